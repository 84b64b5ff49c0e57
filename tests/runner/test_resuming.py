"""What a killed run measured is in the result, once; what cannot be gone on with is kept aside, and named."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lab import MIB, Lab, Ran, journal_lines
from modelledlab import write_modelled

from flatwater.experiment import load
from flatwater.results import open_result
from flatwater.results.phases import measured_phases, measured_s
from flatwater.results.result import ELSEWHERE
from flatwater.runner.summary import keep_without_running
from flatwater.runner.sweep import _is_missing

Lines = list[dict[str, Any]]
LONG = {"mode": "rndrw", "duration_s": 60}


def measured(lines: Lines) -> list[float]:
    """When each measured interval ended."""
    return [line["time_s"] for line in lines if line.get("phase") == "measure"]


def cell_folder(out: Path) -> Path:
    return out / "cells" / "0000"


def aside(out: Path) -> list[Path]:
    return sorted((out / "set-aside").glob("*"))


def kill(lab: Lab, file: Path, phase: str, lines: int = 3, out: Path | None = None) -> tuple[Path, Lines]:
    """Starts or goes on with a run, and kills it when so many more intervals of a phase are recorded; what it left."""
    there = out is not None and (cell_folder(out) / "journal.jsonl").exists()
    before = journal_lines(cell_folder(out)) if there and out is not None else []
    many = sum(line.get("phase") == phase for line in before) + lines
    run = lab.start(file, *(["--resume"] if out else []), out=out)
    run.until_recorded(many, phase=phase)
    run.send(signal.SIGKILL)
    return run.out, journal_lines(cell_folder(run.out))


def resume(lab: Lab, file: Path, out: Path) -> Ran:
    ran = lab.run(file, "--json", "--resume", out=out)
    assert ran.code == 0, ran.stderr
    return ran


def write_journal(out: Path, lines: Lines) -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (cell_folder(out) / "journal.jsonl").write_text(text)


def check_kept(ran: Ran, lines: Lines, duration_s: float) -> None:
    """What was measured is in the result as it was, and no second of it was measured again."""
    cell, throughput = ran.recorded, ran.recorded.measured("workload", "throughput")
    kept = dict(zip(throughput.time_s.tolist(), throughput.value.tolist(), strict=True))
    before = {
        line["time_s"]: line["metrics"]["workload.throughput"] for line in lines if line.get("phase") == "measure"
    }
    assert before and {time_s: kept.get(time_s) for time_s in before} == before
    assert measured_s(cell.phases) == pytest.approx(duration_s, abs=0.25)
    assert ran.summary.samples == len(kept)
    assert not aside(ran.out)


class TestFiles:
    @pytest.mark.parametrize(
        "how", ["-al", pytest.param("-rs", marks=pytest.mark.slow), pytest.param("-a", marks=pytest.mark.slow)]
    )
    def test_a_copy_of_the_result_is_not_changed_by_going_on_with_the_other(self, lab: Lab, how: str) -> None:
        """Backups of links have the very files of the result: names of one inode, or links to names."""
        file = lab.write({"duration_s": 1.2})
        out, first = kill(lab, file, "measure", 4)
        other = out.with_name("copy")
        subprocess.run(["cp", how, out, other], check=True)
        kept = {path: path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
        check_kept(resume(lab, file, other), first, 1.2)
        assert {path: path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()} == kept
        check_kept(resume(lab, file, out), first, 1.2)

    @pytest.mark.parametrize("what", ["FIFO", "folder"])
    def test_a_journal_that_is_no_file(self, lab: Lab, what: str) -> None:
        file = lab.write({"duration_s": 1.2})
        out, _ = kill(lab, file, "measure", 4)
        journal = cell_folder(out) / "journal.jsonl"
        journal.unlink()
        os.mkfifo(journal) if what == "FIFO" else journal.mkdir()
        ran = lab.run(file, "--json", "--resume", out=out)
        assert ran.code in (0, 2), ran
        assert ran.code == 0 or "is not a file" in ran.error or "Is a directory" in ran.error

    def test_what_the_user_put_into_the_result_stays(self, lab: Lab) -> None:
        file = lab.write({"duration_s": 1.2})
        out, first = kill(lab, file, "measure", 4)
        notes = [out / "notes", out / "cells" / "notes", cell_folder(out) / "notes"]
        for path in notes:
            path.write_text("precious")
        check_kept(resume(lab, file, out), first, 1.2)
        assert [path.read_text() for path in notes] == ["precious"] * 3
        assert [path for path in sorted((out / "cells").rglob("*")) if path.is_file()] == sorted(notes[1:])

    def test_killed_in_the_warm_up_that_a_resume_repeats(self, lab: Lab) -> None:
        file = lab.write({"duration_s": 1.2, "warmup_s": 0.4})
        out, first = kill(lab, file, "measure", 4)
        _, second = kill(lab, file, "warmup", 2, out)
        assert measured(second) == measured(first), "it was killed before it measured anything more"
        ran = resume(lab, file, out)
        check_kept(ran, first, 1.2)
        assert [event.kind for event in ran.recorded.events] == ["seam", "seam"]

    def test_killed_in_the_read_back(self, lab: Lab) -> None:
        workload = {"duration_s": 0.5, "verify": True, "block_size": "4KiB", "threads": 1}
        file = lab.write(workload, {"size": 64 * MIB})
        out, lines = kill(lab, file, "verify", 1)
        ran = resume(lab, file, out)
        check_kept(ran, lines, 0.5)
        assert measured(lines) == pytest.approx(ran.recorded.measured("workload", "throughput").time_s)
        assert ran.recorded.phases[-1].name == "verify"
        read = [phase for phase in ran.recorded.phases if phase.name == "verify"][-1]
        rates = ran.recorded.series("workload", "read_bytes_per_s").between(read.start_s, read.end_s)
        assert len(rates) and rates.value.any(), "all of it is read back"

    def test_killed_while_it_drained(self, lab: Lab) -> None:
        """As the last lines of a run that waits for its last fsync."""
        file = lab.write({"duration_s": 0.5, "verify": True, "fsync": "end"}, {"size": 64 * MIB})
        out, lines = kill(lab, file, "verify", 1)
        last = next(at for at, line in reversed(list(enumerate(lines))) if line.get("phase") == "measure")
        left = lines[: last + 1]
        begun = {"start_s": left[-1]["time_s"], "time_s": left[-1]["time_s"] + 0.1, "phase": "drain"}
        left.append(left[-1] | begun | {"totals": {}, "histograms": {}, "counters": {}})
        write_journal(out, left)
        ran = resume(lab, file, out)
        check_kept(ran, left, 0.5)
        names = [phase.name for phase in ran.recorded.phases]
        assert names.count("measure") == 1 and names[-1] == "verify"
        assert "fsync" in ran.summary.latency_by_kind_us, "it was made durable after all"

    def test_interrupted_while_it_measured(self, lab: Lab) -> None:
        """Which leaves a drain behind the measurement."""
        file = lab.write({"duration_s": 1.0})
        run = lab.start(file)
        run.until_recorded(4)
        assert run.send(signal.SIGINT).code == 130
        lines = journal_lines(cell_folder(run.out))
        check_kept(resume(lab, file, run.out), lines, 1.0)

    def test_what_a_missing_storage_keeps_from_going_on_waits(self, lab: Lab) -> None:
        place = lab.data / "mounted" / "here"
        place.mkdir(parents=True)
        file = lab.write({"duration_s": 1.0}, {"path": str(place)})
        out, lines = kill(lab, file, "measure")
        away = lab.folder / "away"
        place.parent.rename(away)
        assert lab.run(file, "--resume", out=out).code == 2
        away.rename(place.parent)
        check_kept(resume(lab, file, out), lines, 1.0)

    def test_so_it_does_in_a_later_cell(self, lab: Lab) -> None:
        """There it is that cell's failure, and the others go on."""
        paths = [lab.data / "a" / "here", lab.data / "b" / "here"]
        for path in paths:
            path.mkdir(parents=True)
        sweep = {"storage.path": [str(path) for path in paths]}
        file = lab.write({"duration_s": 1.0}, sweep=sweep)
        run = lab.start(file)
        run.until_recorded(3, cell=1)
        run.send(signal.SIGKILL)
        lines = journal_lines(run.out / "cells/0001")
        (run.out / "cells/0000/summary.json").unlink()
        paths[1].parent.rename(lab.folder / "away")
        assert lab.run(file, "--resume", out=run.out).code == 1
        (lab.folder / "away").rename(paths[1].parent)
        ran = resume(lab, file, run.out)
        kept = ran.result.cells[1].measured("workload", "throughput").time_s.tolist()
        assert measured(lines) == kept[: len(measured(lines))]

    def test_what_a_worker_of_a_cluster_measured_is_kept_aside(self, lab: Lab) -> None:
        """The files of the same path here are other files, and this is another machine."""
        file = lab.write({"duration_s": 0.6})
        out, lines = kill(lab, file, "measure")
        (cell_folder(out) / ELSEWHERE).write_text("{}")
        ran = resume(lab, file, out)
        assert "a worker of a cluster measured it, and this machine cannot go on there; kept in" in ran.stderr
        (kept,) = aside(out)
        assert journal_lines(kept) == lines
        assert "seam" not in [event.kind for event in ran.recorded.events]

    def test_files_that_are_gone_are_another_measurement(self, lab: Lab) -> None:
        file = lab.write({"duration_s": 0.6})
        out, lines = kill(lab, file, "measure")
        for path in lab.data.glob("flatwater-fileio.*"):
            path.unlink()
        self.check_aside(resume(lab, file, out), lines, "is gone, or was changed")

    def test_a_purge_is_not_repeated(self, lab: Lab, device: Any) -> None:
        place = {"path": str(device(32)), "overwrite": True, "purge": True, "size": 8 * MIB}
        file = lab.write({"mode": "rndwr", "duration_s": 1.0}, place)
        out, lines = kill(lab, file, "measure")
        ran = resume(lab, file, out)
        check_kept(ran, lines, 1.0)
        assert "purge" not in ran.stderr

    def test_what_failed_is_kept_and_measured_anew(self, lab: Lab) -> None:
        fault = {"kind": "error", "after_ops": 300}
        file = lab.write({"mode": "rndrd", "rate_per_s": 1000, "duration_s": 2}, {"fault": fault})
        ran = lab.run(file, "--json")
        lines = journal_lines(cell_folder(ran.out))
        assert ran.code == 1 and measured(lines)
        again = lab.run(file, "--json", "--resume", out=ran.out)
        assert again.code == 1
        (kept,) = aside(ran.out)
        assert journal_lines(kept) == lines
        assert str(kept) in again.stderr and "it had failed" in again.stderr

    def test_what_failed_is_no_less_so_after_a_run_that_could_not_begin(self, lab: Lab) -> None:
        fault = {"kind": "error", "after_ops": 300}
        file = lab.write({"mode": "rndrd", "rate_per_s": 1000, "duration_s": 2}, {"fault": fault})
        ran = lab.run(file, "--json")
        lines = journal_lines(cell_folder(ran.out))
        for _ in range(2):
            result = open_result(ran.out)
            assert _is_missing(result.cells[0])
            keep_without_running(result.cells[0], load(file), "failed", "the disk is not mounted")
            result.seal("failed")
        again = lab.run(file, "--json", "--resume", out=ran.out)
        (kept,) = aside(ran.out)
        assert journal_lines(kept) == lines and "it had failed" in again.stderr

    def test_a_damaged_journal_is_kept(self, lab: Lab) -> None:
        file = lab.write({"duration_s": 0.5})
        out, _ = kill(lab, file, "measure")
        with (cell_folder(out) / "journal.jsonl").open("a") as journal:
            journal.write("\0\0\0\n")
        damaged = (cell_folder(out) / "journal.jsonl").read_bytes()
        ran = resume(lab, file, out)
        (kept,) = aside(out)
        assert (kept / "journal.jsonl").read_bytes() == damaged
        assert str(kept) in ran.stderr and "damaged" in ran.stderr
        assert measured_s(ran.recorded.phases) == pytest.approx(0.5, abs=0.2)

    def test_a_whole_result_keeps_what_was_set_aside(self, lab: Lab) -> None:
        file = lab.write({"duration_s": 0.5})
        out, _ = kill(lab, file, "measure")
        shutil.rmtree(lab.data)
        lab.data.mkdir()
        assert resume(lab, file, out).result.manifest.status == "complete"
        assert len(aside(out)) == 1

    @staticmethod
    def check_aside(ran: Ran, lines: Lines, why: str) -> None:
        """All of it is kept and named, and nothing of it is in the result."""
        (kept,) = aside(ran.out)
        assert journal_lines(kept) == lines
        assert str(kept) in ran.stderr and why in ran.stderr
        assert not [event for event in ran.recorded.events if event.kind == "seam"]
        assert len(measured_phases(ran.recorded.phases)) == 1


class TestRounds:
    WORKLOAD: Mapping[str, Any] = {
        "mode": "rndrd",
        "steady_state": "snia",
        "round_s": 0.3,
        "rounds_max": 5,
        "warmup_s": 0.2,
        "rate_per_s": 500,
    }

    def test_that_were_cut_short_are_kept_and_measured_anew(self, lab: Lab) -> None:
        file = lab.write(self.WORKLOAD)
        out, lines = kill(lab, file, "measure", 7)
        ran = resume(lab, file, out)
        TestFiles.check_aside(ran, lines, "no gap between them")

    def test_that_were_over_are_not_measured_again(self, lab: Lab) -> None:
        workload = dict(self.WORKLOAD) | {"mode": "rndwr", "verify": True, "block_size": "4KiB"}
        file = lab.write(workload, {"size": 64 * MIB})
        out, lines = kill(lab, file, "verify", 1)
        ran = resume(lab, file, out)
        assert not aside(out)
        throughput = ran.recorded.series("workload", "throughput").time_s.tolist()
        assert [time_s for time_s in throughput if time_s <= lines[-1]["time_s"]] == [
            line["time_s"] for line in lines if "metrics" in line
        ]
        names = [phase.name for phase in ran.recorded.phases]
        assert names.count("measure") == 1 and names[-1] == "verify", names
        assert ran.summary.samples == pytest.approx(15, abs=2)


class TestModelled:
    def test_the_same_seconds_are_in_the_result_once(self, lab: Lab) -> None:
        file = write_modelled(lab, [5000.0], duration_s=300)
        out, lines = kill(lab, file, "measure", 20)
        ran = resume(lab, file, out)
        again = ran.recorded.series("workload", "throughput")
        before = {line["time_s"]: line["metrics"]["workload.throughput"] for line in lines if "metrics" in line}
        kept = dict(zip(again.time_s.tolist(), again.value.tolist(), strict=True))
        assert before and {time_s: kept.get(time_s) for time_s in before} == before
        assert len(measured_phases(ran.recorded.phases)) == 1 and not aside(out)

    def test_another_engine_s_seconds_are_kept(self, lab: Lab) -> None:
        """What the new run does not repeat stays, and is named."""
        file = write_modelled(lab, [5000.0], duration_s=300)
        out, lines = kill(lab, file, "measure", 20)
        lines[3]["metrics"]["workload.throughput"] = 1.0
        write_journal(out, lines)
        ran = resume(lab, file, out)
        (kept,) = aside(out)
        assert journal_lines(kept) == lines
        assert any(str(kept) in warning for warning in ran.summary.warnings) and str(kept) in ran.stdout
