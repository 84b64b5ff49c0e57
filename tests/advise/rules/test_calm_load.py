from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import SAMPLES, case, database, device, load, machine

from flatwater.advise.rule import Case
from flatwater.advise.rules.calm_load import CalmLoad
from flatwater.analysis.bound.line import Line


def calm(spikes: int = 4, times: float = 30, busy: float = 10, idle: float = 90, **more: Any) -> Case:
    """A minute of 500 transactions a second on an idle machine; in some seconds the p99 is many times the usual."""
    p99 = np.full(SAMPLES, 2000.0)
    p99[5 : 5 + spikes] *= times
    told = {"rate_per_s": 500.0, "in_flight": 2, "ops_per_s": 500, "latency_p99_us": Line(p99), **more}
    return case(
        load=load(**told),
        device=device(busy_pct=busy, queue_depth=0.2),
        database=database(cpu_user_pct=50, cpu_system_pct=10, cpu_wait_pct=0, row_lock_pct=0),
        machine=machine(cpu_idle_pct=idle, cpu_iowait_pct=0, others_pct=100, children_pct=100),
    )


def test_spikes_of_a_load_that_leaves_room() -> None:
    told = CalmLoad().advise(calm())
    assert told is not None
    assert told.evidence[0] == "in 4 of 60 seconds the p99 was over 10 times the usual 2 ms, up to 60 ms"
    assert told.evidence[1] == "the device was busy for 10 % of the time"
    assert told.change.kind == "workload"
    thinks = CalmLoad().advise(calm(rate_per_s=None, pause_s=21.0))
    assert thinks is not None


@pytest.mark.parametrize(
    "other",
    [{"spikes": 2}, {"spikes": 7}, {"times": 9}, {"busy": 60}, {"idle": 10}, {"rate_per_s": None}],
    ids=["few", "many", "low", "busy device", "busy processors", "closed loop"],
)
def test_silent_where_there_are_no_spikes_or_no_room(other: dict[str, Any]) -> None:
    assert CalmLoad().advise(calm(**other)) is None
