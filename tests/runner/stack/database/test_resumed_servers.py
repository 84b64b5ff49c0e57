"""A cell on database servers that was killed goes on with its data as they stood; where it cannot, it says so first."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lab import Ran, journal_lines
from serverlab import OLTP, TPCC, Foreign, ServerLab
from test_resuming import aside, cell_folder, check_kept, measured

from flatwater.results.phases import measured_s


def kill(servers: ServerLab, file: Path, *, lines: int = 5, out: Path | None = None) -> tuple[Path, list[Any]]:
    """Starts or resumes a run, and kills it when so many more intervals were measured."""
    before = 0
    if out is not None:
        before = len(measured(journal_lines(cell_folder(out))))
    run = servers.start(file, *(["--resume"] if out else []))
    run.until_recorded(before + lines)
    run.send(signal.SIGKILL)
    servers.until_gone()
    return run.out, journal_lines(cell_folder(run.out))


def resume(servers: ServerLab, file: Path, code: int = 0) -> Ran:
    ran = servers.run(file, "--resume")
    assert ran.code == code, ran.stderr
    return ran


def copies(servers: ServerLab) -> list[Path]:
    return sorted(path.parent for path in servers.storage.glob("flatwater-servers/run/*/data"))


class TestTpcc:
    @pytest.mark.slow
    def test_killed_twice(self, servers: ServerLab) -> None:
        file = servers.write({**TPCC, "duration_s": 2.5, "warmup_s": 0.5})
        out, first = kill(servers, file)
        assert len(copies(servers)) == 1
        _, second = kill(servers, file, out=out)
        assert measured(second)[: len(measured(first))] == measured(first)
        ran = resume(servers, file)
        check_kept(ran, second, 2.5)
        seams = [event.text for event in ran.recorded.events if event.kind == "seam"]
        assert len(seams) == 2 and all("recovery took" in text for text in seams)
        assert all(one.holds for one in ran.summary.consistency if one.applies) and ran.summary.consistency
        log = (ran.out / "servers/0000/error.log").read_text()
        assert "crash recovery" in log.lower() or "Starting crash" in log
        servers.check_clean()

    def test_ctrl_c(self, servers: ServerLab) -> None:
        file = servers.write({**TPCC, "duration_s": 5})
        run = servers.start(file)
        run.until_recorded(5)
        assert run.send(signal.SIGINT).code == 130
        lines = journal_lines(cell_folder(run.out))
        assert len(copies(servers)) == 1, "its data wait for it"
        check_kept(resume(servers, file), lines, 5)
        servers.check_clean()

    def test_killed_when_all_was_measured(self, servers: ServerLab) -> None:
        """While the consistency is checked: the measurement is not repeated, the check is."""
        file = servers.write({**TPCC, "duration_s": 0.8})
        run = servers.start(file)
        run.until_recorded(8)
        run.until(lambda: servers.processes())
        run.send(signal.SIGKILL)
        servers.until_gone()
        lines = journal_lines(cell_folder(run.out))
        ran = resume(servers, file)
        check_kept(ran, lines, 0.8)
        assert ran.summary.consistency

    @pytest.mark.slow
    def test_what_is_not_kept_is_kept_until_it_is_over(self, servers: ServerLab, tmp_path: Path) -> None:
        place = tmp_path / "storage"
        place.mkdir()
        file = servers.write({**OLTP, "duration_s": 5}, storage=place)
        file.write_text(file.read_text().replace("[storage]", "[storage]\nkeep = false"))
        run = servers.start(file)
        run.until_recorded(5)
        assert run.send(signal.SIGINT).code == 130
        lines = journal_lines(cell_folder(run.out))
        check_kept(resume(servers, file), lines, 5)
        assert not list(place.glob("flatwater-servers/snapshots/*/data")), "and then it is gone"


class TestImpossible:
    def check_anew(self, servers: ServerLab, ran: Ran, lines: list[Any], why: str) -> None:
        (kept,) = aside(ran.out)
        assert journal_lines(kept) == lines
        assert why in ran.stderr and str(kept) in ran.stderr
        assert ran.stderr.index(why) < ran.stderr.index("copy the data"), "said before anything is deleted"
        assert ran.cell["status"] == "complete"
        assert not [event for event in ran.recorded.events if event.kind == "seam"]

    @pytest.mark.slow
    def test_the_copy_is_gone(self, servers: ServerLab) -> None:
        file = servers.write({**OLTP, "duration_s": 1})
        _, lines = kill(servers, file)
        shutil.rmtree(copies(servers)[0])
        self.check_anew(servers, resume(servers, file), lines, "its data directory is gone")

    @pytest.mark.slow
    def test_one_of_two_is_gone(self, servers: ServerLab) -> None:
        file = servers.write({**OLTP, "duration_s": 1}, {"instances": 2})
        _, lines = kill(servers, file)
        shutil.rmtree(copies(servers)[1] / "data")
        self.check_anew(servers, resume(servers, file), lines, "1 of its 2 data directories are gone")
        servers.check_clean()

    def test_another_server(self, servers: ServerLab) -> None:
        file = servers.write({**OLTP, "duration_s": 1})
        _, lines = kill(servers, file)
        told = copies(servers)[0] / "copy.json"
        told.write_text(json.dumps(json.loads(told.read_text()) | {"version": "5.5.0"}))
        self.check_anew(servers, resume(servers, file), lines, "5.5.0, and this is")

    def test_what_does_not_recover_is_not_deleted(self, servers: ServerLab) -> None:
        """The cause may be mended."""
        file = servers.write({**OLTP, "duration_s": 1})
        _, lines = kill(servers, file)
        (copy,) = copies(servers)
        (copy / "data/ibdata1").rename(copy / "ibdata1")
        (copy / "data/ibdata1").mkdir()
        ran = resume(servers, file, code=1)
        assert "cannot be recovered" in ran.error and str(copy) in ran.error
        assert journal_lines(cell_folder(ran.out)) == lines
        (copy / "data/ibdata1").rmdir()
        (copy / "ibdata1").rename(copy / "data/ibdata1")
        check_kept(resume(servers, file), lines, 1)


class TestOthers:
    @pytest.mark.slow
    def test_another_result_s_data_are_left_alone(self, servers: ServerLab) -> None:
        file = servers.write({**OLTP, "duration_s": 1})
        out, lines = kill(servers, file)
        ran = servers.go({**OLTP, "duration_s": 0.2})
        assert ran.code == 0 and len(copies(servers)) == 1
        assert f"a resumed run of {out} goes on with it" in ran.stderr
        check_kept(resume(servers, file), lines, 1)
        servers.check_clean()

    @pytest.mark.slow
    def test_so_they_are_when_it_was_moved(self, servers: ServerLab) -> None:
        file = servers.write({**OLTP, "duration_s": 1})
        out, lines = kill(servers, file)
        moved = out.rename(out.with_name("moved"))
        ran = servers.go({**OLTP, "duration_s": 0.2})
        assert ran.code == 0 and len(copies(servers)) == 1 and "which is not there now" in ran.stderr
        moved.rename(out.with_name("again"))
        again = servers.lab.run(file, "--json", "--resume", out=out.with_name("again"))
        assert again.code == 0
        check_kept(again, lines, 1)

    def test_what_nobody_needs_goes(self, servers: ServerLab) -> None:
        file = servers.write({**OLTP, "duration_s": 1})
        out, _ = kill(servers, file)
        shutil.rmtree(cell_folder(out))
        assert servers.go({**OLTP, "duration_s": 0.2}).code == 0
        servers.check_clean()


def test_a_server_that_outlived_flatwater_is_ended(servers: ServerLab) -> None:
    """As one that changed its user: the kernel then forgets to kill it."""
    file = servers.write({**OLTP, "duration_s": 1})
    _, lines = kill(servers, file)
    (copy,) = copies(servers)
    outlived = subprocess.Popen(["sh", "-c", "sleep 1000", f"--defaults-file={copy / 'my.cnf'}"])
    try:
        check_kept(resume(servers, file), lines, 1)
    finally:
        outlived.kill()
        outlived.wait()


def test_a_server_of_others_below_the_folder_goes_on(servers: ServerLab) -> None:
    """Somebody copied a snapshot, and runs a server on the copy: it is in no ledger."""
    file = servers.write({**OLTP, "duration_s": 1})
    _, lines = kill(servers, file)
    (copy,) = copies(servers)
    place = copy.parents[1] / "mycopy"
    place.mkdir()
    beside = copy.parent / "mine"
    beside.mkdir()
    others = [
        subprocess.Popen(["sh", "-c", "sleep 1000; :", f"--datadir={place}"]),
        subprocess.Popen(["sh", "-c", "sleep 1000; :", f"--datadir={beside}"]),
        # Its data are elsewhere, whatever folder it was started in.
        subprocess.Popen(["sh", "-c", "sleep 1000; :", "--datadir=/nowhere"], cwd=place),
        subprocess.Popen(["sh", "-c", "sleep 1000; :", f"--datadir={copy}-2"]),
    ]
    try:
        check_kept(resume(servers, file), lines, 1)
        assert [other.poll() for other in others] == [None] * len(others)
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_an_attached_server(servers: ServerLab, foreign: Foreign) -> None:
    url = foreign.url(foreign.schema("resumed"))
    file = servers.write({**OLTP, "duration_s": 1}, {"url": url, "load": True})
    _, lines = kill(servers, file)
    ran = resume(servers, file)
    check_kept(ran, lines, 1)
    assert "load rows" not in ran.stderr


def test_a_fault_is_injected_once(servers: ServerLab) -> None:
    database = {"fault": {"kind": "kill", "at_s": 0.3}, "on_crash": "restart"}
    file = servers.write({**OLTP, "duration_s": 3}, database)
    run = servers.start(file)
    run.until(lambda: run.out.exists() and '"recovered"' in _text(run.out))
    run.send(signal.SIGKILL)
    servers.until_gone()
    ran = resume(servers, file)
    assert [event.kind for event in ran.recorded.events].count("fault") == 1
    assert measured_s(ran.recorded.phases) == pytest.approx(3, abs=0.3)


def _text(out: Path) -> str:
    journal = cell_folder(out) / "journal.jsonl"
    return journal.read_text() if journal.exists() else ""
