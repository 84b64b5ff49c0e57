"""The space that servers take, told and refused before anything is loaded; and a snapshot that was damaged."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from serverlab import OLTP, SMALL, ServerLab, made_in

from flatwater.errors import UserError
from flatwater.experiment import Experiment, cell_at
from flatwater.experiment.validation import make_experiment
from flatwater.runner.stack.database.real.space import (
    Space,
    estimate_space,
    redo_bytes,
    require_space_elsewhere,
    shape_of,
)
from flatwater.server import Binary, ServersRoot, open_loading, open_root
from flatwater.server.copying import shares_blocks

MIB = 2**20


def test_its_parts() -> None:
    space = Space(data=100 * MIB, loading_redo=10 * MIB, copies=0, redo=5 * MIB)
    assert space.total == 115 * MIB
    assert space.text == "data 100 MiB, redo log while loading 10 MiB, redo logs of the servers 5 MiB"


@pytest.fixture
def root(tmp_path: Path) -> Iterator[ServersRoot]:
    place = tmp_path / "data"
    place.mkdir()
    with open_root(place) as root:
        yield root


def placed_cell(place: Path, other: Path, *, instances: int = 1, **placement: Any) -> Experiment:
    """A cell of tpcc, 1000 warehouses, with parts on the storage `other`."""
    storages = {"other": {"path": str(other)}}
    database = {"kind": "server", "instances": instances, "placement": placement, "storages": storages}
    workload = {"kind": "tpcc", "warehouses": 1000}
    experiment = make_experiment({"workload": workload, "database": database, "storage": {"path": str(place)}})
    return cell_at(experiment, 0).experiment


#: Of a server's own redo log.
REDO = {"innodb_log_file_size": "32M"}
TABLES = {"stock": "other", "order_line": "other"}


def estimate(cell: Experiment, binary: Binary, root: ServersRoot, other: Path) -> Space:
    return estimate_space(cell, binary, REDO, root, shape_of(cell, binary, REDO), {"other": other})


def test_what_is_placed_elsewhere_needs_its_room_there(
    binary: Binary, root: ServersRoot, tmpfs: Callable[[int], Path]
) -> None:
    other = tmpfs(128)
    alone = estimate(placed_cell(root.path.parent, other), binary, root, other)
    assert alone.elsewhere == {} and alone.beside == 0
    space = estimate(placed_cell(root.path.parent, other, tables=TABLES), binary, root, other)
    whole = 1000 * 100 * MIB
    assert space.data == whole, "the snapshot is below storage.path, whatever is placed"
    there = space.elsewhere["other"].bytes
    assert 0.65 * whole < there < 0.75 * whole and there + space.copies == alone.copies
    with pytest.raises(UserError, match="the parts of the servers there need about 69") as refused:
        require_space_elsewhere(space)
    assert refused.value.where == "database.storages.other.path" and str(other) in refused.value.what
    # Each of two servers has its own.
    two = estimate(placed_cell(root.path.parent, other, instances=2, tables=TABLES), binary, root, other)
    assert two.elsewhere["other"].bytes == 2 * there
    redo = estimate(placed_cell(root.path.parent, other, redo_log="other"), binary, root, other)
    assert redo.elsewhere["other"].bytes == redo_bytes(REDO, binary) == alone.redo and redo.redo == 0
    require_space_elsewhere(redo)


def test_a_storage_on_the_file_system_of_the_data_counts_there(
    binary: Binary, root: ServersRoot, tmp_path: Path
) -> None:
    if shares_blocks(root.path):
        pytest.skip("copies take no room on this file system")
    other = tmp_path / "other"
    other.mkdir()
    alone = estimate(placed_cell(root.path.parent, other), binary, root, other)
    space = estimate(placed_cell(root.path.parent, other, tables=TABLES), binary, root, other)
    assert space.elsewhere == {} and space.beside > 0 and space.total == alone.total


def test_what_is_loaded_is_known_and_not_estimated(
    binary: Binary, root: ServersRoot, tmpfs: Callable[[int], Path]
) -> None:
    other = tmpfs(128)
    cell = placed_cell(root.path.parent, other, tables={"stock": "other"})
    loading = open_loading(root, shape_of(cell, binary, REDO))
    (loading.folder / "data" / "tpcc").mkdir(parents=True)
    for name, mib in (("ibdata1", 3), ("tpcc/stock.ibd", 2), ("tpcc/orders.ibd", 1)):
        (loading.folder / "data" / name).write_bytes(bytes(mib * MIB))
    loading.commit()
    space = estimate(cell, binary, root, other)
    assert (space.data, space.elsewhere["other"].bytes) == (0, 2 * MIB)
    assert space.copies == (0 if shares_blocks(root.path) else 4 * MIB)
    require_space_elsewhere(space)
    # Before the copy, and before a server starts.
    wrong = placed_cell(root.path.parent, other, tables={"history": "other"})
    with pytest.raises(UserError, match="no file of a table history"):
        estimate(wrong, binary, root, other)


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


def test_what_does_not_fit_elsewhere_is_refused_before_anything_is_loaded(
    servers: ServerLab, tmpfs: Callable[[int], Path], tmp_path: Path
) -> None:
    place, other = tmp_path / "place", tmpfs(100)
    place.mkdir()
    placed = {"placement": {"tables": {"sbtest1": "other"}}, "storages": {"other": {"path": str(other)}}}
    ran = servers.go({**OLTP, "rows": 300_000}, placed, storage=place)
    assert ran.code == 2, ran.stderr
    assert "database.storages.other.path" in ran.error and "are free in" in ran.error
    assert not made_in(place, "flatwater-servers/*/*") and "loads into" not in ran.stderr


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
