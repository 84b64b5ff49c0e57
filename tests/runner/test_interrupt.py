"""Ctrl-C and SIGTERM: a clean end in under two seconds, whatever the device does, and a whole result."""

from __future__ import annotations

import io
import os
import signal
from typing import Any

import pytest
from lab import MIB, Lab

from flatwater.experiment import load
from flatwater.results import Result
from flatwater.results.opening import read_manifest
from flatwater.runner import sweep
from flatwater.runner.progress import start_reporter


@pytest.mark.parametrize(("engine", "number"), [("psync", signal.SIGINT), ("io_uring", signal.SIGTERM)])
def test_in_the_measurement(lab: Lab, number: signal.Signals, engine: str) -> None:
    depth = 8 if engine == "io_uring" else 1
    asked = {"mode": "rndrd", "duration_s": 60, "engine": engine, "queue_depth": depth, "threads": 2}
    run = lab.start(lab.write(asked), "--json")
    run.until_recorded(5)
    ran = run.send(number)
    assert ran.code == 130
    assert ran.at_once
    assert "interrupted; what was measured is in" in ran.error and "flatwater resume " in ran.error
    assert ran.cell["status"] == "interrupted"
    assert ran.summary.samples >= 5
    assert ran.result.manifest.status == "interrupted"
    assert len(ran.recorded.series("workload", "ops_per_s")) >= 5
    assert lab.run(ran.out, verb="report").code == 0


@pytest.mark.parametrize("engine", ["io_uring", pytest.param("psync", marks=pytest.mark.slow)])
def test_while_the_device_does_not_answer(lab: Lab, engine: str) -> None:
    stall = {"kind": "stall", "after_ops": 200}
    asked = {"mode": "rndrd", "duration_s": 60, "engine": engine, "threads": 2}
    run = lab.start(lab.write(asked, {"fault": stall}), "--json")
    run.until_recorded(8)
    ran = run.send(signal.SIGINT)
    assert ran.code == 130
    assert ran.at_once
    assert any("still outstanding" in warning for warning in ran.summary.warnings)
    oldest = ran.recorded.series("workload", "oldest_in_flight_us").value
    assert oldest[-1] > 0.5e6


def test_as_soon_as_there_is_a_result(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    made = sweep.create_result

    def interrupted(*given: Any, **named: Any) -> Result:
        result = made(*given, **named)
        os.kill(os.getpid(), signal.SIGINT)
        return result

    monkeypatch.setattr(sweep, "create_result", interrupted)
    experiment, out = load(lab.write({"mode": "rndrd", "duration_s": 60})), lab.folder / "out"
    outcome = sweep.run_experiment(experiment, out, start_reporter(io.StringIO()), lambda *_: None)
    assert (outcome.status, read_manifest(out).status) == ("interrupted", "interrupted")


def test_in_the_warm_up(lab: Lab) -> None:
    run = lab.start(lab.write({"mode": "rndrd", "duration_s": 60, "warmup_s": 60}), "--json")
    run.until_recorded(2, phase="warmup")
    ran = run.send(signal.SIGINT)
    assert (ran.code, ran.at_once) == (130, True)
    assert ran.summary.status == "interrupted"
    assert ran.cell["mean"] is None, "nothing was measured"


def test_in_the_preconditioning(lab: Lab) -> None:
    run = lab.start(lab.write({"mode": "rndrd", "precondition_passes": 100}, {"size": 128 * MIB}), "--json")
    run.until_recorded(2, phase="precondition")
    ran = run.send(signal.SIGINT)
    assert (ran.code, ran.at_once) == (130, True)
    assert [phase.name for phase in ran.recorded.phases] == ["precondition"]


def test_the_other_cells_are_left_for_later(lab: Lab) -> None:
    run = lab.start(lab.write({"mode": "rndrd", "duration_s": 60}, sweep={"workload.threads": [1, 2]}), "--json")
    run.until_recorded(2)
    ran = run.send(signal.SIGINT)
    assert [cell.summary is not None for cell in ran.result.cells] == [True, False]


def test_twice_ends_at_once(lab: Lab) -> None:
    stall = {"kind": "stall", "after_ops": 200}
    run = lab.start(lab.write({"mode": "rndrd", "duration_s": 60}, {"fault": stall}), "--json")
    run.until_recorded(5)
    run.process.send_signal(signal.SIGINT)
    run.process.send_signal(signal.SIGTERM)
    ran = run.send(signal.SIGINT)
    assert (ran.code, ran.at_once) == (130, True)
    assert ran.result.manifest.status == "interrupted"
