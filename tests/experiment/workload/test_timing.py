from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from flatwater.experiment.workload import KINDS, OwnStatements, Timing

MODES = {"fileio": "rndrd", "oltp": "read_only"}


def timed(kind: str, folder: Path, **fields: Any) -> Timing:
    mode = {"mode": MODES[kind]} if kind in MODES else {}
    if kind == "replay":
        trace = folder / "t.iolog"
        trace.write_text("fio version 2 iolog\nf read 0 4096\n")
        mode = {"trace": str(trace)}
    if kind == "query-log":
        mode = {"log": str(folder / "slow.log")}
    workload = KINDS[kind].model_validate({**mode, **fields})
    assert isinstance(workload, Timing)
    return workload


@pytest.mark.parametrize("kind", KINDS)
def test_the_longest_time_of_a_cell(kind: str, tmp_path: Path) -> None:
    assert timed(kind, tmp_path, warmup_s="1m", duration_s=30).longest_s == 90
    assert (
        timed(kind, tmp_path, warmup_s=10, duration_s=30, steady_state="snia", round_s=60, rounds_max=25).longest_s
        == 1510
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_the_same_stopwatch(kind: str, tmp_path: Path) -> None:
    workload = timed(kind, tmp_path)
    # A log has its own length.
    duration_s = math.inf if kind == "query-log" else 60.0
    assert (workload.duration_s, workload.warmup_s, workload.steady_state) == (duration_s, 0.0, "none")
    # What an error of a server's user ends is for the user to say: it is counted.
    on_error = "continue" if isinstance(workload, OwnStatements) else "stop"
    assert (workload.rate_per_s, workload.arrival, workload.on_error) == (0.0, "fixed", on_error)
    assert workload.units()[0] == workload.unit
