"""Servers that die, hang, are full or refuse: what the record, the summary and the user are told of it."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from lab import Ran
from serverlab import OLTP, SMALL, TPCC, ServerLab

from flatwater.experiment.workload import KINDS
from flatwater.experiment.workload.transactions import Transactions
from flatwater.results import Cell, open_result
from flatwater.results.phases import measured_s

MakeDevice = Callable[..., Path]
Mount = Callable[..., Path]
KILLED = "was killed by signal 9 (SIGKILL)"


def event_times(cell: Cell, kind: str) -> list[float]:
    return [event.time_s for event in cell.events if event.kind == kind]


def between(cell: Cell, name: str, start_s: float, end_s: float) -> np.ndarray:
    """Values of the intervals that lie whole between two times."""
    series = cell.series("workload", name)
    return series.value[(series.time_s > start_s) & (series.time_s <= end_s)]


class TestDeath:
    def check_stopped(self, ran: Ran) -> None:
        """The run ended with one line, and the gap is in its record."""
        assert ran.code == 1
        assert KILLED in ran.error and 'database.on_crash = "restart"' in ran.error
        assert "Error" not in ran.error.removeprefix("error: ")
        summary, cell = ran.summary, ran.recorded
        assert (summary.status, ran.result.manifest.status) == ("failed", "failed")
        assert summary.operations > 0 and summary.errors > 0
        (fault_s,) = event_times(cell, "fault")
        assert KILLED in next(event.text for event in cell.events)
        throughput = cell.series("workload", "throughput")
        gap = between(cell, "throughput", fault_s + 0.15, throughput.time_s[-1])
        assert len(gap) and not gap.any(), "after its death nothing is done"
        assert between(cell, "errors_per_s", fault_s - 0.15, throughput.time_s[-1]).max() > 0

    def test_a_kill_on_purpose_ends_the_run(self, servers: ServerLab) -> None:
        database = {"fault": {"kind": "kill", "at_s": 0.5}}
        ran = servers.go({**OLTP, "duration_s": 30}, database)
        self.check_stopped(ran)
        assert any(event.text.endswith(" on purpose") for event in ran.recorded.events)
        assert any("injected on purpose: kill at 0.5 s" in warning for warning in ran.summary.warnings)
        servers.check_clean()
        assert servers.lab.run(ran.out, verb="report").code == 0

    def test_so_does_a_kill_by_somebody_else(self, servers: ServerLab) -> None:
        run = servers.start(servers.write({**OLTP, "duration_s": 30}))
        run.until_recorded(5)
        (server,) = servers.processes()
        server.kill()
        ran = run.wait()
        self.check_stopped(ran)
        assert not any("on purpose" in warning for warning in ran.summary.warnings)
        servers.check_clean()

    @pytest.mark.slow
    def test_it_is_started_again(self, servers: ServerLab) -> None:
        database = {"fault": {"kind": "kill", "at_s": 1}, "on_crash": "restart"}
        ran = servers.go({**TPCC, "duration_s": 6}, database)
        assert (ran.code, ran.cell["status"]) == (0, "complete"), ran.stderr
        (recovery_s,) = ran.summary.recoveries_s
        (fault_s,), (recovered_s,) = event_times(ran.recorded, "fault"), event_times(ran.recorded, "recovered")
        assert recovery_s > 0 and fault_s < recovered_s
        # Its clients may find it before flatwater does.
        assert not between(ran.recorded, "throughput", fault_s + 0.15, fault_s + recovery_s / 2).any()
        assert between(ran.recorded, "ops_per_s", recovered_s, 6).any(), "and it works again"
        assert any("was started again: it answered after" in warning for warning in ran.summary.warnings)
        assert f"the server {KILLED}" in ran.stderr and "the server answers again" in ran.stderr, "told live"
        assert ran.summary.counters["reconnects"] == 4 and ran.summary.errors > 0
        conditions = [condition for condition in ran.summary.consistency if condition.applies]
        assert len(conditions) == 10 and all(condition.holds for condition in conditions), conditions
        log = (ran.out / "servers" / "0000" / "error.log").read_text()
        assert log.count("ready for connections") == 2
        servers.check_clean()

    @pytest.mark.slow
    def test_one_of_two(self, servers: ServerLab) -> None:
        database = {"fault": {"kind": "kill", "at_s": 0.5}, "instances": 2}
        ran = servers.go({**OLTP, "duration_s": 30}, database, settings={})
        assert ran.code == 1 and f"server 0 {KILLED}" in ran.error


class TestFreeze:
    def test_a_frozen_server_looks_frozen(self, servers: ServerLab) -> None:
        database = {"fault": {"kind": "freeze", "at_s": 1, "duration_s": 1.5}}
        ran = servers.go({**OLTP, "duration_s": 4, "connections": 3}, database)
        assert (ran.code, ran.cell["status"]) == (0, "complete"), ran.stderr
        (fault_s,), (thawed_s,) = event_times(ran.recorded, "fault"), event_times(ran.recorded, "recovered")
        frozen = slice(fault_s + 0.25, thawed_s - 0.25)
        assert not between(ran.recorded, "throughput", frozen.start, frozen.stop).any()
        in_flight = between(ran.recorded, "in_flight", frozen.start, frozen.stop)
        assert len(in_flight) >= 4 and (in_flight == 3).all()
        oldest = between(ran.recorded, "oldest_in_flight_us", frozen.start, frozen.stop)
        assert (np.diff(oldest) > 0).all() and oldest[-1] > 0.5e6
        assert ran.cell["verdict"] == "stalls", ran.cell["verdict_text"]
        assert ran.summary.errors == 0 and ran.summary.recoveries_s == []
        assert between(ran.recorded, "throughput", thawed_s + 0.25, 4).any()
        servers.check_clean()

    @pytest.mark.slow
    def test_ctrl_c_does_not_wait_for_it(self, servers: ServerLab) -> None:
        database = {"fault": {"kind": "freeze", "at_s": 0.3, "duration_s": 600}}
        run = servers.start(servers.write({**OLTP, "duration_s": 60}, database))
        run.until_recorded(8)
        ran = run.send(signal.SIGINT)
        assert ran.code == 130 and ran.at_once
        servers.check_clean(waiting=1)

    @pytest.mark.slow
    def test_twice_ends_at_once_and_leaves_nothing(self, servers: ServerLab) -> None:
        database = {"fault": {"kind": "freeze", "at_s": 0.3, "duration_s": 600}}
        run = servers.start(servers.write({**OLTP, "duration_s": 60}, database))
        run.until_recorded(8)
        run.process.send_signal(signal.SIGINT)
        time.sleep(0.3)  # the first may only be noticed when an interval ends
        ran = run.send(signal.SIGINT)
        assert ran.code == 130
        servers.until_gone()
        assert list(servers.sockets.iterdir()) == []


class TestRestart:
    def test_one_that_cannot_be_started_again(self, servers: ServerLab, tmp_path: Path) -> None:
        """Somebody took its data away."""
        file = servers.write({**OLTP, "duration_s": 60}, {"on_crash": "restart"}, storage=servers.storage)
        run = servers.start(file)
        run.until_recorded(3)
        (data,) = servers.storage.glob("flatwater-servers/run/*/data")
        (server,) = servers.processes()
        (data / "ibdata1").write_bytes(b"no tablespace" * 1000)
        server.kill()
        ran = run.wait()
        assert ran.code == 1
        assert "the server cannot be started again: MariaDB" in ran.error and "on_crash" not in ran.error, ran.error
        assert ran.summary.recoveries_s == [] and ran.summary.operations > 0
        servers.check_clean()


class TestRefusals:
    @pytest.mark.parametrize("on_error", ["stop", "continue"])
    @pytest.mark.parametrize("kind", sorted(kind for kind, one in KINDS.items() if issubclass(one, Transactions)))
    def test_out_of_connections(self, servers: ServerLab, tmp_path: Path, kind: str, on_error: str) -> None:
        """What cannot begin is no run of errors that were counted, whatever is to be done about errors."""
        log = tmp_path / "general.log"
        log.write_text("2026-11-23T10:00:00.000000Z\t    7 Query\tSELECT 1\n")
        works = {
            "oltp": OLTP,
            "tpcc": TPCC,
            "sql": {"kind": "sql", "duration_s": 1, "transactions": {"look": {"statements": ["SELECT 1"]}}},
            "query-log": {"kind": "query-log", "log": str(log), "duration_s": 60},
        }
        # Its own recorder needs one, and the server one more for its administrator.
        asked = {**works[kind], "connections": 20, "on_error": on_error}
        ran = servers.go(asked, settings={**SMALL, "max_connections": 10})
        assert (ran.code, ran.cell["status"]) == (1, "failed"), ran.stderr
        assert "Too many connections" in ran.error and "fewer workload.connections" in ran.error
        servers.check_clean()

    @pytest.mark.slow
    def test_a_disk_that_fills_up(self, servers: ServerLab, device: MakeDevice, mount: Mount) -> None:
        small = mount(device(800, "ext4"))
        settings = {**SMALL, "innodb_flush_log_at_trx_commit": 0}
        file = servers.write({**OLTP, "mode": "insert", "duration_s": 60}, settings=settings, storage=small)
        run = servers.start(file)
        run.until_recorded(3)
        fill(small)
        ran = run.wait()
        assert ran.code == 1
        assert "is full" in ran.error or "No space left" in ran.error, ran.error
        assert ran.summary.operations > 0
        servers.check_clean(small)


def fill(folder: Path) -> None:
    """Leaves no room on a file system."""
    with (folder / "ballast").open("wb", buffering=0) as handle:
        for piece in (2**20, 4096):
            with suppress(OSError):
                while True:
                    handle.write(bytes(piece))


class TestInterrupt:
    @pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
    def test_while_it_measures(self, servers: ServerLab, number: signal.Signals) -> None:
        run = servers.start(servers.write({**OLTP, "duration_s": 60}))
        run.until_recorded(5)
        ran = run.send(number)
        assert ran.code == 130
        assert "interrupted; what was measured is in" in ran.error
        assert ran.summary.status == "interrupted" and ran.summary.samples >= 5 and ran.summary.operations > 0
        assert (ran.out / "servers" / "0000" / "error.log").exists()
        assert (ran.out / "servers" / "0000" / "variables.json").exists()
        assert servers.lab.run(ran.out, verb="report").code == 0
        servers.check_clean(waiting=1)

    def test_a_killed_flatwater_leaves_no_server_and_resumes(self, servers: ServerLab) -> None:
        file = servers.write({**OLTP, "duration_s": 2}, sweep={"workload.connections": [2, 3]})
        run = servers.start(file)
        run.until_recorded(5, cell=1)
        assert len(servers.processes()) == 1
        run.send(signal.SIGKILL)
        servers.until_gone()
        (first, _) = open_result(run.out).cells
        ran = servers.run(file, "--resume")
        assert ran.code == 0, ran.stderr
        (cell,) = ran.cells
        length_s = measured_s(ran.result.cells[1].phases)
        assert cell["cell"] == 1 and length_s == pytest.approx(2, abs=0.3), "it goes on where it was"
        assert [event.kind for event in ran.result.cells[1].events] == ["seam"]
        assert ran.result.cells[0].summary == first.summary is not None
        servers.check_clean()

    @pytest.mark.slow
    def test_while_it_checks(self, servers: ServerLab) -> None:
        """The server hangs before the queries of the check are done."""
        run = servers.start(servers.write({**TPCC, "duration_s": 1}))
        assert run.process.stderr is not None
        assert any("check consistency" in line for line in run.process.stderr)
        (server,) = servers.processes()
        server.suspend()
        ran = run.send(signal.SIGINT)
        assert ran.code == 130 and ran.summary.status == "interrupted"
        assert ran.summary.operations > 0 and ran.summary.consistency == []
        servers.check_clean(waiting=1)


class TestFullDisk:
    @pytest.mark.slow
    def test_a_server_that_waits_for_room_is_told(self, servers: ServerLab, device: MakeDevice, mount: Mount) -> None:
        """MariaDB waits when the disk of its binary log is full: it neither dies nor refuses anything."""
        place = mount(device(1200, "ext4"))
        workload = {**OLTP, "mode": "update_index", "duration_s": 3600}
        settings = {"log_bin": True, "max_binlog_size": 4096}
        run = servers.start(servers.write(workload, settings=settings, storage=place))
        run.until_recorded(3)
        filler = place / "filler"
        with suppress(OSError), filler.open("wb") as handle:
            while handle.write(b"\0" * 2**20):
                handle.flush()
        journal = run.out / "cells" / "0000" / "journal.jsonl"
        run.until(lambda: re.search('"fault".*full', journal.read_text(), re.IGNORECASE))
        filler.unlink()
        ran = run.send(signal.SIGINT)
        assert any(event.kind == "fault" and "full" in event.text.lower() for event in ran.recorded.events), ran.stderr
        assert any("full" in warning.lower() for warning in ran.summary.warnings), ran.summary.warnings
