"""Many cells: their order, what a killed run leaves for the next, and what two of them share."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from lab import MIB, Lab
from modelledlab import write_modelled

from flatwater.errors import FlatwaterError
from flatwater.experiment import load
from flatwater.runner.executors import Course, Executor
from flatwater.runner.progress import SilentReporter
from flatwater.runner.sweep import run_experiment


def order(stderr: str) -> list[str]:
    """The cells' labels in the order in which they ran."""
    return [line.split(": ", 1)[1] for line in stderr.splitlines() if line.startswith("cell ")]


class TestCells:
    def test_fill_levels_over_one_file(self, lab: Lab) -> None:
        ran = lab.go({"duration_s": 0.1}, {"size": 32 * MIB}, sweep={"storage.fill": [0.25, 0.5, 1.0]})
        assert [cell["set"] for cell in ran.cells] == [{"storage.fill": fill} for fill in (0.25, 0.5, 1.0)]
        assert [cell["cell"] for cell in ran.cells] == [0, 1, 2]
        assert len(list(lab.data.glob("flatwater-fileio.0*"))) == 1
        assert (lab.data / "flatwater-fileio.0000").stat().st_size == 32 * MIB
        assert ran.stderr.count("are there already") == 2, "each level only adds to the one before"
        shrunk = lab.go({"duration_s": 0.1}, {"size": 32 * MIB, "fill": 0.25})
        assert "prepare" not in shrunk.stderr

    def test_threads(self, lab: Lab) -> None:
        ran = lab.go({"mode": "rndrd", "fsync": "none"}, sweep={"workload.threads": [1, 4]})
        one, four = ran.cells
        assert one["metrics"]["workload.in_flight"]["max"] == 1
        assert 1 < four["metrics"]["workload.in_flight"]["max"] <= 4

    def test_repeats_run_in_an_order_that_the_seed_shuffles(self, lab: Lab) -> None:
        asked = {"mode": "rndrd", "direct": False, "duration_s": 0.1}
        sweep = {"workload.threads": [1, 2, 3]}
        first, again, other = (lab.go(asked, sweep=sweep, repeat=2, seed=seed) for seed in (7, 7, 8))
        assert order(first.stderr) == order(again.stderr) != order(other.stderr)
        assert len(set(order(first.stderr))) == 6
        assert all("(repeat 2)" not in label for label in order(first.stderr)[:3]), "one whole repeat after another"
        seeds = {cell["cell"]: cell["seed"] for cell in first.cells}
        assert len(set(seeds.values())) == 6
        assert seeds == {cell["cell"]: cell["seed"] for cell in again.cells}
        assert {cell["cell"]: cell["repeat"] for cell in first.cells} == {index: index // 3 for index in range(6)}

    @pytest.mark.slow
    def test_each_cell_holds_its_own_path(self, lab: Lab) -> None:
        """Also when it comes back to the first: cells 0 and 2 are on `a`, cell 1 is on `b`."""
        paths = [str(lab.data / name) for name in "ab"]
        for path in paths:
            Path(path).mkdir()
        sweep = {"workload.threads": [1, 2], "storage.path": paths}
        run = lab.start(lab.write({"duration_s": 8, "mode": "rndrd"}, sweep=sweep), "--json")
        for cell, held, free in ((1, 1, 0), (2, 0, 1)):
            run.until_recorded(1, cell=cell)
            short = {"duration_s": 0.1, "mode": "rndrd"}
            assert lab.go(short, {"path": paths[held]}).code == 2
            assert lab.go(short, {"path": paths[free]}).code == 0
        assert run.send(signal.SIGINT).code == 130

    def test_a_path_that_is_missing_later_is_that_cells_failure(self, lab: Lab) -> None:
        paths = [str(lab.data), str(lab.folder / "no" / "such"), str(lab.data)]
        sweep = {"zip": {"storage.path": paths, "workload.threads": [1, 1, 2]}}
        ran = lab.go({"duration_s": 0.1}, sweep=sweep)
        assert ran.code == 1
        assert "1 of 3 cells failed" in ran.error and "does not exist" in ran.error
        assert [cell["status"] for cell in ran.cells] == ["complete", "failed", "complete"]
        failed = ran.result.cells[1].summary
        assert failed is not None and failed.error is not None and "mkdir -p" in failed.error

    def test_a_first_cell_that_cannot_be_is_the_files_fault(self, lab: Lab) -> None:
        sweep = {"storage.path": [str(lab.folder / "no" / "such"), str(lab.data)]}
        ran = lab.go({"duration_s": 0.1}, sweep=sweep)
        assert (ran.code, "does not exist" in ran.error, ran.out.exists()) == (2, True, False)

    def test_a_failed_cell_does_not_end_the_sweep(self, lab: Lab) -> None:
        """The fault comes after 300 requests: at this rate, one of the cells ends before."""
        fault = {"kind": "error", "after_ops": 300}
        workload = {"mode": "rndrd", "duration_s": 0.4}
        sweep = {"workload.rate_per_s": [2000, 100, 3000]}
        file = lab.write(workload, {"fault": fault}, sweep=sweep)
        ran = lab.run(file, "--json")
        assert ran.code == 1
        assert [cell["status"] for cell in ran.cells] == ["failed", "complete", "failed"]
        assert "2 of 3 cells failed; the first: rate_per_s 2000: " in ran.error and "Input/output error" in ran.error
        assert ran.result.manifest.status == "failed"
        again = lab.run(file, "--json", "--resume", out=ran.out)
        assert again.code == 1
        assert [cell["cell"] for cell in again.cells] == [0, 2], "what was measured is not measured again"

    def test_a_thousand_million_cells_are_counted_and_refused_at_once(self, lab: Lab) -> None:
        values = list(range(1, 1001))
        sweep = {f"workload.{field}": values for field in ("rate_per_s", "fsync_every", "threads")}
        ran = lab.go(sweep=sweep)
        assert (ran.code, ran.at_once) == (2, True), ran.took_s
        assert "1,000,000,000 cells" in ran.error and "--yes" in ran.error
        assert not ran.out.exists()
        sure = lab.go(arguments=("--yes",), sweep=sweep)
        assert sure.code == 2
        assert "1,000,000,000 cells are more than one run can hold" in sure.error


class TestResume:
    def test_a_killed_measurement_is_finished(self, lab: Lab) -> None:
        file = lab.write({"mode": "rndrd", "duration_s": 1.2, "warmup_s": 0.2})
        run = lab.start(file)
        run.until_recorded(4)
        ran = run.send(signal.SIGKILL)
        with (ran.out / "cells/0000/journal.jsonl").open("a") as journal:
            journal.write('{"time_s": 99, "metr')  # as a kill in the middle of a write leaves it
        killed = ran.recorded
        assert killed.summary is None
        assert len(killed.series("workload", "ops_per_s")) >= 4, "readable as it was left"
        assert lab.run(ran.out, verb="report").code == 0
        after = lab.run(file, "--json", "--resume", out=ran.out)
        assert after.code == 0, after.stderr
        cell = after.recorded
        measured = [phase for phase in cell.phases if phase.name == "measure"]
        assert len(measured) == 2, [phase.name for phase in cell.phases]
        assert sum(phase.end_s - phase.start_s for phase in measured) == pytest.approx(1.2, abs=0.15)
        (seam,) = [event for event in cell.events if event.kind == "seam"]
        assert seam.time_s == pytest.approx(measured[0].end_s, abs=0.01)
        assert "resumed" in seam.text
        assert cell.summary is not None
        assert cell.summary.samples == pytest.approx(12, abs=1), "the second warm-up does not count"
        assert after.result.manifest.status == "complete"

    def test_only_the_missing_cells_are_run(self, lab: Lab) -> None:
        file = lab.write({"mode": "rndrd", "duration_s": 0.4}, sweep={"workload.threads": [1, 2, 3]})
        run = lab.start(file)
        run.until(lambda: (run.out / "cells/0000/summary.json").exists())
        ran = run.send(signal.SIGKILL)
        first = (ran.out / "cells/0000/summary.json").read_bytes()
        after = lab.run(file, "--json", "--resume", out=ran.out)
        assert after.code == 0
        assert [cell["cell"] for cell in after.cells] == [1, 2]
        assert "\ncell 2 of 3" in after.stderr and "cell 1 of 3" not in after.stderr
        whole = after.result
        assert [cell.set["workload.threads"] for cell in whole.cells] == [1, 2, 3]
        assert whole.cells[0].summary is not None
        assert whole.cells[0].summary.model_dump_json().encode() == first
        assert all(len(cell.series("workload", "throughput")) == 4 for cell in whole.cells)

    def test_an_interrupted_run_goes_on(self, lab: Lab) -> None:
        file = lab.write({"mode": "rndrd", "duration_s": 1})
        run = lab.start(file)
        run.until_recorded(4)
        assert run.send(signal.SIGTERM).code == 130
        after = lab.run(file, "--json", "--resume", out=run.out)
        assert after.code == 0, after.stderr
        assert after.cell["status"] == "complete"
        assert after.cell["samples"] == pytest.approx(10, abs=2)

    def test_a_failed_cell_is_measured_anew(self, lab: Lab) -> None:
        fault = {"kind": "error", "after_ops": 300}
        file = lab.write({"mode": "rndrd", "duration_s": 0.5}, {"fault": fault})
        ran = lab.run(file, "--json")
        assert ran.code == 1
        again = lab.run(file, "--json", "--resume", out=ran.out)
        assert again.code == 1, "it fails again"
        assert [event.kind for event in again.recorded.events] == ["fault"]

    def test_nothing_is_missing_of_a_complete_result(self, lab: Lab) -> None:
        file = lab.write({"duration_s": 0.1})
        ran = lab.run(file)
        before = {path: path.read_bytes() for path in ran.out.iterdir()}
        after = lab.run(file, "--json", "--resume", out=ran.out)
        assert (after.code, after.stdout) == (0, "")
        assert "nothing is missing" in after.stderr
        assert {path: path.read_bytes() for path in ran.out.iterdir()} == before

    def test_another_experiment_is_refused(self, lab: Lab) -> None:
        ran = lab.go({"duration_s": 0.1})
        for other in ({"duration_s": 0.2}, {"duration_s": 0.1, "threads": 2}):
            after = lab.run(lab.write(other), "--resume", out=ran.out)
            assert after.code == 2
            assert "holds another experiment" in after.error
        after = lab.run(lab.write({"duration_s": 0.1}), "--resume", "--seed", "9", out=ran.out)
        assert after.code == 2

    def test_a_result_of_another_version_is_refused(self, lab: Lab) -> None:
        file = lab.write({"mode": "rndrd", "duration_s": 5})
        run = lab.start(file)
        run.until_recorded(1)
        run.send(signal.SIGKILL)
        manifest = run.out / "flatwater.json"
        content = json.loads(manifest.read_text()) | {"flatwater_version": "0.0.0"}
        manifest.write_text(json.dumps(content))
        after = lab.run(file, "--resume", out=run.out)
        assert after.code == 2
        assert "was begun by flatwater 0.0.0" in after.error

    def test_a_folder_that_is_no_result_is_refused(self, lab: Lab) -> None:
        out = lab.folder / "photos"
        out.mkdir()
        (out / "holiday.jpg").write_bytes(b"precious")
        for arguments in ((), ("--resume",)):
            ran = lab.run(lab.write(), *arguments, out=out)
            assert ran.code == 2
            assert "not empty" in ran.error
        assert [path.name for path in out.iterdir()] == ["holiday.jpg"]

    def test_a_damaged_result_is_refused(self, lab: Lab) -> None:
        file = lab.write({"mode": "rndrd", "duration_s": 5})
        run = lab.start(file)
        run.until_recorded(2)
        run.send(signal.SIGKILL)
        for name, text in (("flatwater.json", "{"), ("experiment.toml", "\xff = [")):
            kept = (run.out / name).read_bytes()
            (run.out / name).write_text(text, encoding="latin-1")
            assert lab.run(file, "--resume", out=run.out).code == 2
            (run.out / name).write_bytes(kept)
        (run.out / "experiment.toml").unlink()
        assert lab.run(file, "--resume", out=run.out).code == 2

    def test_a_complete_result_without_its_summaries_is_not_called_complete(self, lab: Lab) -> None:
        file = write_modelled(lab, [500.0, 900.0], duration_s=30)
        ran = lab.run(file)
        assert ran.code == 0
        (ran.out / "summary.json").unlink()
        again = lab.flatwater("resume", ran.out)
        assert again.code == 2 and "2 of its 2 cells have no summary" in again.stderr

    @pytest.mark.slow
    def test_whatever_moment_it_is_killed_at(self, lab: Lab) -> None:
        """Kills at random moments, until a run gets through: nothing is lost, nothing is measured twice.

        Each run gets longer than the one before, so that one gets through on however busy a machine.
        """
        file = lab.write({"mode": "rndrd", "duration_s": 0.5}, sweep={"workload.threads": [1, 2, 3]})
        out = lab.folder / "out"
        chance = random.Random(5)
        for attempt in range(60):
            run = lab.start(file, "--resume", out=out)
            try:
                run.process.wait(0.4 + 0.8 * chance.random() + 0.01 * attempt**2)
                break
            except subprocess.TimeoutExpired:
                run.send(signal.SIGKILL)
        assert run.wait().code == 0
        for cell in lab.run(file, "--resume", out=out).result.cells:
            assert cell.summary is not None
            measured = sum(phase.end_s - phase.start_s for phase in cell.phases if phase.name == "measure")
            assert measured == pytest.approx(0.5, abs=0.2)
            assert len(cell.series("workload", "throughput")) >= 4


def test_the_storage_of_the_result_is_described(lab: Lab, tmpfs: Callable[[int], Path]) -> None:
    place = tmpfs(32)
    ran = lab.go({"direct": False, "duration_s": 0.1}, {"path": str(place)})
    storage = ran.result.machine["storage"]
    assert (storage["file_system"], storage["path"]) == ("tmpfs", str(place))
    assert "device" not in storage


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            None,
            "{out}: cannot write the result: No space left on device (hint: make room there, then: flatwater resume",
        ),
        ("{out}/series.parquet", "{out}: cannot write the result: No space left on device"),
        (".flatwater-0123456789abcdef", "{out}: cannot write the result: No space left on device"),
        (
            "{folder}/data/content",
            "storage.path: cannot use {folder}/data/content: No space left on device (hint: mend",
        ),
        ("data/content", "storage.path: cannot use data/content: No space left on device"),
    ],
)
def test_an_error_of_the_system_is_told_of_the_place_where_it_was(lab: Lab, name: str | None, told: str) -> None:
    class Full(Executor):
        def open(self, *_: object) -> dict[str, object]:
            return {}

        def run(self, course: Course) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name and name.format(**places))

    out = lab.folder / "out"
    places = {"out": str(out), "folder": str(lab.folder)}
    with pytest.raises(FlatwaterError) as raised:
        run_experiment(load(lab.write()), out, SilentReporter(), lambda *_: None, executor=Full())
    assert str(raised.value).startswith(told.format(**places)) and f"flatwater resume {out}" in str(raised.value)
