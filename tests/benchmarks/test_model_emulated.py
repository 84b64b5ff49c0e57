from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import benchmarks.model.emulated
import pytest
from benchmarks.model.emulated import CASES, DEPTHS, HERE, Timed, missing, read_cells

from flatwater.errors import FlatwaterError
from flatwater.experiment import count_cells, load


def line(depth: int, **fields: Any) -> str:
    cell = {
        "set": {"workload.queue_depth": depth},
        "operations": 4000,
        "mean": 1000.0,
        "latency_us": {"p50": 150.0},
        "metrics": {"storage.lag_p95_us": {"mean": 80.0, "max": 90.0}, "storage.lag_late_pct": {"mean": 0.5}},
    }
    return json.dumps(cell | fields)


def test_cells_are_known_by_their_depth_in_whatever_order_they_end() -> None:
    found = read_cells("\n".join([line(8), line(32, mean=2000.0), line(1, metrics={})]))
    assert found == {
        1: Timed(4000, 1000.0, 150.0),
        8: Timed(4000, 1000.0, 150.0, lag_p95_us=80.0, late_pct=0.5),
        32: Timed(4000, 2000.0, 150.0, lag_p95_us=80.0, late_pct=0.5),
    }


@pytest.mark.parametrize("output", ["not JSON", "{}", "[]", line(1, mean=None), line(1, latency_us={})])
def test_what_is_not_understood_is_one_line(output: str) -> None:
    with pytest.raises(FlatwaterError, match="not understood"):
        read_cells(output)


@pytest.mark.parametrize("output", ["", line(1), "\n".join(line(depth) for depth in (1, 8, 16))])
def test_a_depth_that_is_missing_is_told(output: str) -> None:
    with pytest.raises(FlatwaterError, match=r"told of the depths \[.*\], not \[1, 8, 32\]"):
        read_cells(output)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
@pytest.mark.parametrize("real", [True, False], ids=["real time", "virtual"])
def test_every_case_is_a_sound_experiment(case: benchmarks.model.emulated.Case, real: bool, tmp_path: Path) -> None:
    where = ["storage.real_time=true", f"storage.path={tmp_path}"] if real else []
    experiment = load(HERE / "emulated.toml", [*case.fields, f"workload.mode={case.mode}", *where])
    assert count_cells(experiment) == len(DEPTHS)


def test_without_root_or_fuse_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "needs root" in (missing() or "")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(Path, "exists", lambda path: str(path) != "/dev/fuse")
    assert "/dev/fuse is missing" in (missing() or "")
