"""The space that servers take, told and refused before anything is loaded; and a snapshot that was damaged."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from serverlab import OLTP, SMALL, ServerLab, made_in

from flatwater.runner.stack.database.real.space import Space, redo_bytes
from flatwater.server import Binary
from flatwater.server.copying import shares_blocks

MIB = 2**20


def test_its_parts() -> None:
    space = Space(data=100 * MIB, loading_redo=10 * MIB, copies=0, redo=5 * MIB)
    assert space.total == 115 * MIB
    assert space.text == "data 100 MiB, redo log while loading 10 MiB, redo logs of the servers 5 MiB"


def test_the_size_of_a_redo_log(binary: Binary) -> None:
    assert redo_bytes({"innodb_log_file_size": "32M"}, binary) == 32 * MIB
    assert redo_bytes({"innodb_log_file_size": "32M", "innodb_log_files_in_group": "3"}, binary) == 96 * MIB
    assert redo_bytes({"innodb_redo_log_capacity": "1G"}, binary) == 1024 * MIB
    assert redo_bytes({}, binary) == 96 * MIB, "the default of MariaDB"


@pytest.mark.parametrize(("kind", "shared"), [("ext4", False), ("btrfs", True)])
def test_whether_copies_share_blocks(
    device: Callable[..., Path], mount: Callable[..., Path], kind: str, shared: bool
) -> None:
    place = mount(device(128, kind))
    before = set(place.iterdir())
    assert shares_blocks(place) is shared
    assert set(place.iterdir()) == before, "what was tried is gone"


def test_what_cannot_fit_is_refused_before_anything_is_made(
    servers: ServerLab, device: Callable[..., Path], mount: Callable[..., Path]
) -> None:
    """Each data set of the sweep would fit, and both do not. The logs count, too."""
    place = mount(device(1000, "ext4"))
    ran = servers.go(OLTP, storage=place, sweep={"workload.rows": [500_000, 1_000_000]})
    assert ran.code == 2, ran.stderr
    for told in ("the run needs about", "data ", "redo log while loading", "copies for the servers", "storage.path"):
        assert told in ran.error
    assert not made_in(place, "flatwater-servers/*/*") and not ran.out.exists()
    large = {**SMALL, "innodb_log_file_size": "2G"}
    ran = servers.go(OLTP, storage=place, settings=large)
    assert ran.code == 2 and "redo logs of the servers 2 GiB" in ran.error


def test_a_damaged_snapshot_is_named_with_the_command_that_deletes_it(servers: ServerLab, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    first = servers.go({**OLTP, "duration_s": 0.5}, storage=place)
    assert first.code == 0, first.stderr
    assert "needs about" in first.stderr
    (folder,) = made_in(place, "flatwater-servers/snapshots/*")
    (table,) = folder.glob("data/sbtest/sbtest1.ibd")
    length = table.stat().st_size
    os.truncate(table, length // 2)
    ran = servers.go({**OLTP, "duration_s": 0.5}, storage=place)
    assert ran.code == 1
    assert str(folder) in ran.error and f"flatwater snapshots delete {place} {folder.name}" in ran.error
    # With its length as before, only the server sees the damage.
    os.truncate(table, 0)
    os.truncate(folder / "data" / "ibdata1", 0)
    for path in (table, folder / "data" / "ibdata1"):
        os.truncate(path, length if path == table else 12 * MIB)
    ran = servers.go({**OLTP, "duration_s": 0.5}, storage=place)
    assert ran.code == 1 and "flatwater snapshots" in ran.error and str(folder) in ran.error
