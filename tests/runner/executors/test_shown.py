"""Which cell a terminal draws while several run elsewhere, and what it is told of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from lab import Lab

from flatwater.experiment import count_cells, load
from flatwater.results import create_result
from flatwater.results.schema import Manifest
from flatwater.runner.executors import Course
from flatwater.runner.executors.bench import plan_cell
from flatwater.runner.executors.shown import Shown
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import SilentReporter


class Told(SilentReporter):
    """What a display was told."""

    def __init__(self, *, draws: bool) -> None:
        self.draws = draws
        self.lines: list[tuple[Any, ...]] = []

    def cell(self, number: int, total: int, label: str, *, virtual: bool = False) -> None:
        self.lines.append(("cell", number, total, label, virtual))

    def phase(self, name: str, length_s: float | None) -> None:
        self.lines.append(("phase", name, length_s))

    def interval(self, at_s: float, throughput: float, unit: str, p95_us: float | None) -> None:
        self.lines.append(("interval", at_s, throughput, unit, p95_us))

    def sampled(self, time_s: float, metrics: Mapping[str, float]) -> None:
        self.lines.append(("sampled", time_s, dict(metrics)))


def course(lab: Lab, *, draws: bool) -> tuple[Course, Told]:
    experiment = load(lab.write({"duration_s": 9, "warmup_s": 3}, sweep={"workload.threads": [1, 2]}))
    plans = [plan_cell(experiment, index) for index in range(count_cells(experiment))]
    manifest = Manifest(name="x", flatwater_version="1", status="running", created_at="", seed=1, cells=plans)
    result = create_result(lab.folder / "result", manifest, "name = 'x'", {})
    told = Told(draws=draws)
    return Course(experiment, result, result.cells, told, Interrupt(), lambda *_: None), told


def line(phase: str, start_s: float, throughput: float | None) -> bytes:
    metrics = {"workload.throughput": throughput, "workload.latency_p95_us": 7.0}
    told = {"phase": phase, "start_s": start_s, "time_s": start_s + 1, "metrics": metrics}
    return json.dumps(told).encode() + b"\n"


def test_the_first_of_which_something_is_told(lab: Lab) -> None:
    run, told = course(lab, draws=True)
    first, second = run.result.cells
    shown = Shown(run, virtual=False)
    event = b'{"event": {"time_s": 1, "kind": "fault", "text": "broken"}}\n'
    shown.add(second, line("warmup", 2.0, 5.0) + event + b"no line\n" + line("measure", 3.0, None))
    shown.add(first, line("measure", 0.0, 1.0))
    assert told.lines == [
        ("cell", 1, 2, "threads 2", False),
        ("phase", "warmup", 3.0),
        ("interval", 1.0, 5.0, "IOPS", 7.0),
        ("sampled", 3.0, {"workload.throughput": 5.0, "workload.latency_p95_us": 7.0}),
        ("phase", "measure", 9.0),
        ("interval", 1.0, 0.0, "IOPS", 7.0),
        ("sampled", 4.0, {"workload.latency_p95_us": 7.0}),
    ]
    # When it is over, the next one.
    told.lines.clear()
    shown.end(first)
    shown.add(first, line("measure", 1.0, 1.0))
    assert told.lines == []
    shown.end(second)
    shown.add(first, line("measure", 2.0, 1.0))
    assert told.lines[:2] == [("cell", 1, 2, "threads 1", False), ("phase", "measure", 9.0)]


@pytest.mark.parametrize("draws", [True, False])
def test_only_where_charts_are_drawn(lab: Lab, *, draws: bool) -> None:
    run, told = course(lab, draws=draws)
    Shown(run, virtual=True).add(run.result.cells[0], line("measure", 0.0, 1.0))
    assert bool(told.lines) == draws
