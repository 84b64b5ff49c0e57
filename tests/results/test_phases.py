"""One function gives a cell's measured samples to everybody: a repeated warm-up is in nobody's figures."""

from __future__ import annotations

import ast
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab import Lab, Ran, journal_lines

import flatwater
from flatwater.analysis import analyse
from flatwater.analysis.compare import cell_estimate, compare
from flatwater.results import Cell, Phase, Series, open_result
from flatwater.results.phases import lengths_s, measured_phases, measured_s, measured_samples, measured_span
from flatwater.what_if import base

#: No second of a small file on this machine comes near it.
ABSURD = 1e17
SOURCE = Path(flatwater.__file__).parent


@pytest.fixture(scope="module")
def resumed(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A cell that was killed and resumed, whose repeated warm-up shows what was never measured."""
    lab = Lab(tmp_path_factory.mktemp("resumed"))
    file = lab.write({"mode": "rndrd", "duration_s": 1.4, "warmup_s": 0.4})
    run = lab.start(file)
    run.until_recorded(5)
    run.send(signal.SIGKILL)
    again = lab.start(file, "--resume", out=run.out)
    again.until_recorded(8, phase="warmup")
    again.send(signal.SIGKILL)
    journal = run.out / "cells/0000/journal.jsonl"
    lines = journal_lines(journal.parent)
    seam = next(at for at, line in enumerate(lines) if "event" in line)
    for line in lines[seam:]:
        if line.get("phase") == "warmup":
            line["metrics"] |= dict.fromkeys(line["metrics"], ABSURD)
            line["totals"] = {kind: [10**17, 10**17, 10**17] for kind in line["totals"]}
            line["counters"] = {"conflicts": 10**17}
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = lab.run(file, "--json", "--resume", out=run.out)
    lab.close()
    assert ran.code == 0, ran.stderr
    assert ran.recorded.series("workload", "throughput").value.max() == ABSURD, "it is recorded"
    return ran


def figures(told: Any) -> list[float]:
    """Every number in something, however deep."""
    if isinstance(told, dict):
        return [one for value in told.values() for one in figures(value)]
    if isinstance(told, list | tuple):
        return [one for value in told for one in figures(value)]
    return [float(told)] if isinstance(told, int | float) and not isinstance(told, bool) else []


def by_estimate(cell: Cell) -> Any:
    found = cell_estimate(cell)
    assert found is not None
    return [found.mean, found.error]


def by_what_if(cell: Cell) -> Any:
    return [
        base._mean(cell, "workload", "throughput"),
        base._mean(cell, "workload", "throughput", "ops_per_s"),
        base.other_cores([cell], 0.0, 1),
    ]


def by_analysis(cell: Cell) -> Any:
    found = analyse(cell.series, cell.metrics(), cell.phases, "IOPS", 0.1)
    return {name: value for name, value in vars(found).items() if isinstance(value, float)} | {
        name: [one.mean, one.max] for name, one in found.metrics.items()
    }


def by_summary(cell: Cell) -> Any:
    assert cell.summary is not None
    return cell.summary.model_dump(mode="json", exclude={"seed", "histograms"})


#: Everybody who makes figures of a cell's measured samples.
CONSUMERS: list[Callable[[Cell], Any]] = [by_summary, by_analysis, by_estimate, by_what_if]


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_repeated_warm_up_is_in_no_figure(resumed: Ran, consumer: Callable[[Cell], Any]) -> None:
    found = figures(consumer(resumed.recorded))
    assert found and max(found) < ABSURD / 1e4


def test_all_count_the_same_samples(resumed: Ran) -> None:
    cell = resumed.recorded
    measured = cell.measured("workload", "throughput")
    assert resumed.summary.samples == len(measured) == pytest.approx(14, abs=1)
    assert resumed.summary.mean == pytest.approx(measured.value.mean())
    estimate = cell_estimate(cell)
    assert estimate is not None and estimate.mean == pytest.approx(measured.value.mean())
    row = compare([open_result(resumed.out), open_result(resumed.out)]).rows[0]
    assert row.baseline.mean == pytest.approx(measured.value.mean())


def test_everybody_asks_one_function() -> None:
    """Whoever names the phase `measure`, or cuts series by the span of what was measured, makes figures of his own."""
    allowed = {
        "results/phases.py",  # the function
        "results/schema.py",  # the name's meaning
        "results/importers/keeping.py",  # makes the phase
        "runner/schedule.py",  # decides which interval is of it
    }
    for path in sorted(SOURCE.rglob("*.py")):
        name = str(path.relative_to(SOURCE))
        if name in allowed:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.Constant) and node.value == "measure"), f"{name}:{node.lineno}"
            cut = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "between"
            assert not (cut and "span" in ast.unparse(node)), f"{name}:{node.lineno}"


def series(times: list[float]) -> Series:
    return Series(np.array(times), np.array(times) * 10)


class TestSamples:
    PHASES = (
        Phase(name="warmup", start_s=0, end_s=2),
        Phase(name="measure", start_s=2, end_s=4),
        Phase(name="warmup", start_s=4, end_s=6),
        Phase(name="measure", start_s=6, end_s=9),
        Phase(name="drain", start_s=9, end_s=10),
    )

    def test_of_several_pieces(self) -> None:
        found = measured_samples(series([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10]), self.PHASES)
        assert found.time_s.tolist() == [3, 4, 7, 8, 9]
        assert lengths_s(found, self.PHASES).tolist() == [1, 1, 1, 1, 1], "the gap is nobody's"
        assert measured_s(self.PHASES) == 5
        assert measured_span(self.PHASES) == (2, 9)
        assert len(measured_phases(self.PHASES)) == 2

    def test_of_none(self) -> None:
        assert len(measured_samples(series([1.0, 2]), self.PHASES[:1])) == 0
        assert len(measured_samples(series([1.0, 2]), [])) == 2, "an import that tells of no phases was measured"

    def test_of_a_piece_in_which_nothing_was_recorded(self) -> None:
        found = measured_samples(series([7.0, 8, 9]), self.PHASES)
        assert lengths_s(found, self.PHASES).tolist() == [1, 1, 1]
        assert len(lengths_s(measured_samples(series([]), self.PHASES), self.PHASES)) == 0
