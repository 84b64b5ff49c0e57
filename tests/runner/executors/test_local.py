"""Modelled cells in processes, real ones alone: the same bytes however many, and nothing lost whatever dies."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from lab import Lab, Ran, Running
from modelledlab import summaries, write_modelled
from waiting import PATIENCE_S

from flatwater.results import Cell, open_result
from flatwater.runner.executors import Course, executor
from flatwater.runner.executors.local import LocalExecutor

#: Requests a second with which a modelled hour takes many seconds.
BUSY = 60_000.0


def workers(run: Running) -> list[psutil.Process]:
    """The processes that run cells for a run."""
    return psutil.Process(run.process.pid).children()


def writers(run: Running, journal: Path) -> list[psutil.Process]:
    """The processes that write a journal."""
    found = []
    for one in workers(run):
        with suppress(psutil.Error):  # it may just have ended
            found += [one for file in one.open_files() if file.path == str(journal)]
    return found


def figures(ran: Ran) -> list[dict[str, object]]:
    """Everything that a sweep found out, in the order of the cells' numbers."""
    cells = json.loads((ran.out / "summary.json").read_text())["cells"]
    return [{name: value for name, value in cell.items() if name != "started_at"} for cell in cells]


class TestModelled:
    def test_the_number_of_processes_changes_no_byte(self, lab: Lab) -> None:
        file = write_modelled(lab, [100.0 * number for number in range(1, 13)], repeat=2)
        one, two, three = (lab.run(file, "--jobs", jobs, out=lab.folder / jobs) for jobs in "123")
        for other in (two, three):
            for name in ("series.parquet", "histograms.parquet"):
                assert (one.out / name).read_bytes() == (other.out / name).read_bytes()
            assert figures(one) == figures(other)

    def test_each_cell_is_told_once(self, lab: Lab) -> None:
        ran = lab.run(write_modelled(lab, range(1, 101)), "--json", "-j", "2")
        assert sorted(cell["cell"] for cell in ran.cells) == list(range(100))
        assert all(cell["status"] == "complete" and cell["layers"]["storage"] == "modelled" for cell in ran.cells)
        assert all(cell["mean"] == pytest.approx(cell["set"]["workload.rate_per_s"]) for cell in ran.cells)

    def test_of_a_large_sweep_only_failures_are_told(self, lab: Lab) -> None:
        few = lab.run(write_modelled(lab, range(1, 4)), "-j", "2")
        many = lab.run(write_modelled(lab, range(1, 120)), "-j", "2")
        assert few.stderr.count("rate_per_s") == 3
        assert "rate_per_s" not in many.stderr

    def test_a_sweep_within_one_process_starts_no_other(self, lab: Lab) -> None:
        run = lab.start(write_modelled(lab, [BUSY, BUSY + 1], duration_s=3000), "-j", "1")
        run.until(lambda: (run.out / "cells/0000/journal.jsonl").exists())
        assert not workers(run)
        assert run.send(signal.SIGINT).code == 130

    def test_a_cell_that_cannot_be_fails_alone(self, lab: Lab) -> None:
        device = lab.folder / "appliance.toml"
        run = lab.start(write_modelled(lab, [BUSY, *range(2, 30)], duration_s=200), "--json", "-j", "2")
        run.until(lambda: summaries(run.out) >= 2)
        device.unlink()
        ran = run.wait()
        assert ran.code == 1
        failed = [cell for cell in ran.cells if cell["status"] == "failed"]
        assert len(ran.cells) == 29 and failed
        assert all("appliance.toml" in cell["error"] for cell in failed)
        assert f"{len(failed)} of 29 cells failed" in ran.error

    def test_a_full_disk_ends_the_run_in_one_line(self, lab: Lab, tmpfs: Callable[[int], Path]) -> None:
        out = tmpfs(1) / "out"
        ran = lab.run(write_modelled(lab, range(1, 500)), "-j", "2", out=out)
        assert ran.code == 1
        assert "cannot write the result: " in ran.error and "No space left on device" in ran.error


class TestMixed:
    def test_real_cells_come_last_and_alone(self, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every other cell counts as real here: what matters is that no process is left when it begins."""
        beside: list[int] = []
        run_here = LocalExecutor._run_here

        def watched(here: LocalExecutor, course: Course, cells: Sequence[Cell]) -> None:
            beside.append(len(psutil.Process().children()))
            run_here(here, course, cells)

        monkeypatch.setattr(LocalExecutor, "_run_here", watched)
        monkeypatch.setattr(executor, "is_real_cell", lambda experiment, index: index % 2 == 1)
        before = len(psutil.Process().children())
        ran = lab.run(write_modelled(lab, range(1, 10)), "--json", "-j", "2")
        assert ran.code == 0, ran.stderr
        numbers = [cell["cell"] for cell in ran.cells]
        assert (sorted(numbers[:5]), numbers[5:]) == ([0, 2, 4, 6, 8], [1, 3, 5, 7])
        assert beside == [before]


class TestLostProcess:
    def test_its_cells_go_to_another(self, lab: Lab) -> None:
        run = lab.start(
            write_modelled(lab, [BUSY + number for number in range(24)], duration_s=60), "--json", "-j", "2"
        )
        run.until(lambda: summaries(run.out) >= 3)
        workers(run)[0].kill()
        ran = run.wait()
        assert ran.code == 0, ran.stderr
        assert sorted(cell["cell"] for cell in ran.cells) == list(range(24))
        assert all(cell["status"] == "complete" for cell in ran.cells)

    @pytest.mark.slow
    def test_a_cell_that_kills_its_process_fails_and_the_rest_goes_on(self, lab: Lab) -> None:
        run = lab.start(write_modelled(lab, [1e6, *range(1, 7)], duration_s=3000), "--json", "-j", "2")
        first = run.out / "cells/0000/journal.jsonl"
        before = None
        for _ in range(2):
            run.until(lambda before=before: writers(run, first) not in ([], [before]))
            (writer,) = writers(run, first)
            writer.kill()
            before = writer
        ran = run.wait()
        assert ran.code == 1
        states = {cell["cell"]: cell["status"] for cell in ran.cells}
        assert states == {0: "failed", **dict.fromkeys(range(1, 7), "complete")}
        assert "was killed (SIGKILL), 2 times" in ran.error and "--jobs" in ran.error

    def test_nothing_is_left_when_the_parent_is_killed(self, lab: Lab) -> None:
        run = lab.start(write_modelled(lab, [1e6, 1e6 + 1], duration_s=3000), "-j", "2")
        run.until(lambda: len(workers(run)) == 2 and (run.out / "cells/0001/journal.jsonl").exists())
        left = workers(run)
        run.send(signal.SIGKILL)
        assert not psutil.wait_procs(left, timeout=PATIENCE_S)[1]


class TestInterrupted:
    @pytest.mark.parametrize("everyone", [False, True], ids=["by a signal", "by Ctrl-C, which the whole group hears"])
    def test_keeps_what_is_finished_and_goes_on(self, lab: Lab, everyone: bool) -> None:
        file = write_modelled(lab, [BUSY + number for number in range(40)], duration_s=15)
        run = lab.start(file, "--json", "-j", "2")
        run.until(lambda: summaries(run.out) >= 4)
        for one in workers(run) if everyone else []:
            one.send_signal(signal.SIGINT)
        ran = run.send(signal.SIGINT)
        assert (ran.code, ran.at_once) == (130, True), ran
        assert "flatwater resume " in ran.error
        done = {cell["cell"] for cell in ran.cells if cell["status"] == "complete"}
        assert 4 <= len(done) < 40
        assert open_result(ran.out).manifest.status == "interrupted"
        after = lab.run(file, "--json", "--resume", "-j", "2", out=ran.out)
        assert after.code == 0, after.stderr
        assert sorted([*done, *(cell["cell"] for cell in after.cells)]) == list(range(40))
        whole = lab.run(file, out=lab.folder / "whole")
        for name in ("series.parquet", "histograms.parquet"):
            assert (whole.out / name).read_bytes() == (after.out / name).read_bytes()

    @pytest.mark.slow
    def test_a_killed_sweep_is_finished_whatever_the_moment(self, lab: Lab) -> None:
        file = write_modelled(lab, [BUSY + number for number in range(30)], duration_s=15)
        out = lab.folder / "out"
        for attempt in itertools.count():
            run = lab.start(file, "--resume", "-j", "2", out=out)
            try:
                run.process.wait(0.7 + 0.3 * attempt)
                break
            except subprocess.TimeoutExpired:
                run.send(signal.SIGKILL)
        assert run.wait().code == 0
        assert [cell.summary is not None for cell in open_result(out).cells] == [True] * 30
        whole = lab.run(file, out=lab.folder / "whole")
        assert (whole.out / "series.parquet").read_bytes() == (out / "series.parquet").read_bytes()
