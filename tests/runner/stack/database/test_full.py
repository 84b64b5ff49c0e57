"""Which of a cell's storages is full: what a server says, and how much room there is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flatwater.experiment import make_experiment
from flatwater.runner.stack.database.real import full
from flatwater.runner.stack.database.real.full import STEP_BYTES, FullStorages

SAYS = "server: Disk is full writing '{}' (Errcode: 28 \"No space left on device\")"


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Free bytes of a folder, by a part of its path; plenty on all others."""
    told: dict[str, int] = {}

    def free_bytes(folder: Path) -> int:
        return next((free for part, free in told.items() if part in str(folder)), 1 << 40)

    monkeypatch.setattr(full, "free_bytes", free_bytes)
    return told


def storages(**placement: Any) -> FullStorages:
    """A cell with its data at /data, and storages `log` and `tmp`."""
    database = {
        "kind": "server",
        "storages": {"log": {"path": "/log"}, "tmp": {"path": "/tmp"}},
        "placement": placement,
        "settings": {"log_bin": True},
    }
    cell = make_experiment(
        {"workload": {"kind": "oltp", "mode": "insert"}, "database": database, "storage": {"path": "/data"}}
    )
    roots: Any = {
        name: SimpleNamespace(path=Path(f"/{name}/flatwater-parts")) for name in dict.fromkeys(placement.values())
    }
    return FullStorages(cell, Path("/data/flatwater-servers"), roots)


def test_the_storage_of_the_file_is_named(free: dict[str, int]) -> None:
    free["/log"] = 0
    found = storages(binary_log="log", redo_log="log", temporary_files="tmp")
    text = found.explained(SAYS.format("/log/flatwater-parts/run/x/data/binary_log/binlog.000001"))
    assert "the storage log (redo log, binary log) is full: 0 B are free in /log" in text
    assert text.endswith("(hint: make room there, or let database.storages.log.path be a larger one)")
    assert "tmp" not in text


def test_a_file_that_is_gone_again_had_no_room(free: dict[str, int]) -> None:
    """A sort's temporary file is deleted when it fails: the room is back when somebody looks."""
    text = storages(temporary_files="tmp").explained(SAYS.format("/tmp/flatwater-parts/run/x/MYfd=25"))
    assert "the storage tmp (temporary files) is full" in text


def test_without_a_path_it_is_the_one_with_little_room(free: dict[str, int]) -> None:
    failed = "transaction failed: server: The table 'sbtest1' is full (error 1114) (hint: free space)"
    found = storages(redo_log="log", temporary_files="tmp")
    assert found.explained(failed) == failed
    free["/tmp"] = STEP_BYTES
    assert found.explained(failed) == failed
    free["/tmp"] = STEP_BYTES - 1
    assert "(error 1114); the storage tmp (temporary files) is full: 64 MiB are free in /tmp (hint:" in (
        found.explained(failed)
    )
    assert found.explained(failed).endswith("; free space)")
    free["/data"] = 0
    assert "; the storage of the data is full: 0 B are free in /data" in found.explained(failed)
    assert "database.storages.tmp.path or storage.path" in found.explained(failed)


def test_a_path_from_the_data_directory_on(free: dict[str, int]) -> None:
    """And the failure names the folder of the data, where the snapshot and the logs are."""
    says = (
        "MariaDB did not start: InnoDB: preallocating 12582912 bytes for file "
        "../../../../../tmp/flatwater-parts/run/x/ibtmp1 failed with error 28 "
        "(on a copy of the snapshot /data/flatwater-servers/snapshots/ab)"
    )
    text = storages(temporary_files="tmp", redo_log="log").explained(says)
    assert "the storage tmp (temporary files) is full" in text
    assert "storage of the data" not in text and "storage log" not in text


def test_what_is_told_is_not_told_twice(free: dict[str, int]) -> None:
    free["/log"] = 0
    found = storages(binary_log="log")
    once = found.explained(SAYS.format("/log/flatwater-parts/binlog.000001"))
    assert found.explained(once) == once


def test_other_failures_stay(free: dict[str, int]) -> None:
    free["/log"] = 0
    assert storages(binary_log="log").explained("server: Deadlock found (error 1213)") == (
        "server: Deadlock found (error 1213)"
    )


def test_without_a_placement_it_is_that_of_the_data(free: dict[str, int]) -> None:
    told = SAYS.format("/data/flatwater-servers/run/x/data/binlog.000001")
    assert storages().explained(told) == told
    free["/data"] = 0
    assert storages().explained(told) == (
        f"{told}; the storage of the data is full: 0 B are free in /data "
        "(hint: make room there, or let storage.path be a larger one)"
    )
