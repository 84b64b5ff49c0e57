from __future__ import annotations

from typing import Any

import pytest

from flatwater.experiment.workload import KINDS, Timing

MODES = {"fileio": "rndrd", "oltp": "read_only"}


def timed(kind: str, **fields: Any) -> Timing:
    mode = {"mode": MODES[kind]} if kind in MODES else {}
    workload = KINDS[kind].model_validate({**mode, **fields})
    assert isinstance(workload, Timing)
    return workload


@pytest.mark.parametrize("kind", KINDS)
def test_the_longest_time_of_a_cell(kind: str) -> None:
    assert timed(kind, warmup_s="1m", duration_s=30).longest_s == 90
    assert timed(kind, warmup_s=10, duration_s=30, steady_state="snia", round_s=60, rounds_max=25).longest_s == 1510


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_the_same_stopwatch(kind: str) -> None:
    workload = timed(kind)
    assert (workload.duration_s, workload.warmup_s, workload.steady_state) == (60.0, 0.0, "none")
    assert (workload.rate_per_s, workload.arrival, workload.on_error) == (0.0, "fixed", "stop")
    assert workload.units()[0] == workload.unit
