"""A storage of a server's parts fills up: each part, while it is loaded, while the server starts, and in the run.

Either nothing of the part needs more room, and the run is as any other; or one line names the storage with its parts,
and what to do. Nothing hangs, and nothing is left behind.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from lab import Ran
from serverlab import OLTP, SMALL, ServerLab, made_in

from flatwater.server import Binary
from flatwater.server.placement.means import why_not

MakeDevice = Callable[..., Path]
Mount = Callable[..., Path]
SETTINGS = {**SMALL, "log_bin": True, "innodb_undo_tablespaces": 3}
#: Each part, and the fields of a database that place it.
PARTS = [
    *("redo_log", "undo_logs", "doublewrite", "binary_log", "temporary_files", "system_tablespace"),
    "tables.sbtest1",
]
#: All parts fit into it, with the room that flatwater leaves alone.
ROOM_MIB = 300
#: Transactions that make each part grow: rows that are added, and sorts that do not fit into memory.
GROWING = {
    "kind": "sql",
    "connections": 2,
    "duration_s": 20,
    "allow_writes": True,
    "setup": ["CREATE TABLE sbtest1 (id INT AUTO_INCREMENT PRIMARY KEY, c VARCHAR(8000)) ENGINE = InnoDB"],
    "transactions": {
        "add": {"statements": ["INSERT INTO sbtest1 (c) VALUES (REPEAT('x', 7000))"], "weight": 20},
        "sort": {"statements": ["SELECT COUNT(*) FROM (SELECT DISTINCT CONCAT(id, c) a FROM sbtest1) b"], "weight": 1},
    },
}


def fill(folder: Path) -> Path:
    """Leaves no room on a file system. Gives the file that takes it."""
    ballast = folder / "ballast"
    with ballast.open("ab", buffering=0) as handle:
        for piece in (2**20, 4096, 512):
            with suppress(OSError):
                while handle.write(bytes(piece)):
                    pass
    return ballast


def database(place: Path, part: str) -> dict[str, Any]:
    item, _, table = part.partition(".")
    return {"placement": {item: {table: "small"} if table else "small"}, "storages": {"small": {"path": str(place)}}}


def require(binary: Binary, part: str) -> None:
    item = part.partition(".")[0]
    reason = why_not(item, binary.flavour, binary.version)
    if reason is not None:
        pytest.skip(reason[0])


def check_told(ran: Ran, part: str) -> None:
    """One line that names the storage, what is on it, and what to do."""
    words = part.replace("tables.", "table ").replace("_", " ")
    assert ran.code in (1, 2), ran
    assert "storages.small.path" in ran.error and "(hint: " in ran.error, ran.error
    told = (f"the storage small ({words}) is full", "are free", "No space left on device")
    assert any(one in ran.error for one in told), ran.error


def check_clean(servers: ServerLab, place: Path) -> None:
    servers.check_clean()
    assert made_in(place, "flatwater-parts/run/*") == []


@pytest.fixture
def small(device: MakeDevice, mount: Mount) -> Iterator[Path]:
    """A file system of its own."""
    yield mount(device(ROOM_MIB, "ext4"))


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
class TestParts:
    def test_a_file_system_that_is_too_small(
        self, servers: ServerLab, binary: Binary, device: MakeDevice, mount: Mount, part: str
    ) -> None:
        """A few MiB: what must be copied there does not fit. What grows only begins, and ends when it is full."""
        require(binary, part)
        place = mount(device(8, "ext4"))
        ran = servers.go({**OLTP, "duration_s": 1}, database(place, part), settings=SETTINGS)
        if ran.code != 0:
            check_told(ran, part)
        check_clean(servers, place)

    def test_one_that_is_full_before(self, servers: ServerLab, binary: Binary, small: Path, part: str) -> None:
        require(binary, part)
        fill(small)
        ran = servers.go({**OLTP, "duration_s": 1}, database(small, part), settings=SETTINGS)
        if ran.code != 0:
            check_told(ran, part)
        check_clean(servers, small)

    def test_one_that_fills_up_in_the_run(self, servers: ServerLab, binary: Binary, small: Path, part: str) -> None:
        require(binary, part)
        if part == "tables.sbtest1":
            pytest.skip("the statements of this run make the table: see the run of oltp below")
        file = servers.write(GROWING, database(small, part), settings={**SETTINGS, "tmp_table_size": 1024})
        run = servers.start(file)
        run.until_recorded(3)
        ballast = fill(small)
        journal = run.out / "cells" / "0000" / "journal.jsonl"
        # A server that waits for room goes on when it has some.
        run.until(lambda: run.process.poll() is not None or '"fault"' in journal.read_text() or _is_over(journal))
        if '"fault"' in journal.read_text():
            assert "the storage small (" in journal.read_text()
        ballast.unlink()
        ran = run.wait()
        if ran.code != 0:
            check_told(ran, part)
        assert ran.summary.operations > 0
        check_clean(servers, small)


def _is_over(journal: Path) -> bool:
    """Whether half of the run was recorded: nothing there needs the room."""
    return journal.read_text().count('"phase":"measure"') > 100


@pytest.mark.slow
def test_a_table_that_fills_its_storage(servers: ServerLab, binary: Binary, small: Path) -> None:
    require(binary, "tables.sbtest1")
    workload = {**OLTP, "mode": "insert", "duration_s": 3600}
    run = servers.start(servers.write(workload, database(small, "tables.sbtest1"), settings=SETTINGS))
    run.until_recorded(3)
    fill(small)
    ran = run.wait()
    check_told(ran, "tables.sbtest1")
    assert ran.summary.operations > 0 and ran.summary.status == "failed"
    check_clean(servers, small)


@pytest.mark.slow
def test_a_binary_log_waits_for_room(servers: ServerLab, binary: Binary, small: Path) -> None:
    """The run says which storage it is that the server waits for, and ends at Ctrl-C as any other."""
    workload = {**OLTP, "mode": "update_index", "duration_s": 3600}
    run = servers.start(servers.write(workload, database(small, "binary_log"), settings=SETTINGS))
    run.until_recorded(3)
    fill(small)
    journal = run.out / "cells" / "0000" / "journal.jsonl"
    run.until(lambda: run.process.poll() is not None or '"fault"' in journal.read_text())
    assert "the storage small (binary log) is full" in journal.read_text()
    if run.process.poll() is None:
        assert run.send(signal.SIGINT).code == 130
    else:
        check_told(run.wait(), "binary_log")
    servers.until_gone()
