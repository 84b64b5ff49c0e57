"""Which files of a data directory go where, and how a server is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.server import Binary, Parts, Placing, Shape, Snapshot, copied_bytes, copy_placed

BLOCK = 4096
#: A data directory: a partitioned table as MySQL before 8.0 and since calls its files, and names that files spell out.
FILES = {
    "ibdata1": 3,
    "undo001": 2,
    "ib_logfile0": 5,
    "tpcc/stock.ibd": 7,
    "tpcc/order_line#P#p0.ibd": 11,
    "tpcc/order_line#P#p1.ibd": 13,
    "tpcc/orders.ibd": 1,
    "tpcc/orders.frm": 1,
    "other/stock.ibd": 17,
}


def binary(monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int], **options: str) -> Binary:
    """A server with these options."""
    monkeypatch.setattr(Binary, "options", lambda self: options)
    return Binary(Path("/mysqld"), "percona", version, ".".join(map(str, version)))


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    for name, blocks in FILES.items():
        path = tmp_path / "snapshot" / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\1" * blocks * BLOCK)
    return Snapshot(Shape("mysql", (5, 7, 22), "5.7.22", {}, 1, {}), tmp_path / "snapshot")


def parts_of(snapshot: Snapshot, placing: Placing) -> Parts:
    tops = {name: snapshot.folder.parent / name for name in placing.storages}
    parts = Parts.below(placing, tops)
    parts.make()
    return parts


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_partitioned_table_is_placed_as_a_whole_by_its_own_name(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = binary(monkeypatch, (5, 7, 22))
    parts = parts_of(snapshot, Placing({}, {"order_line": "fast"}))
    data = snapshot.folder.parent / "data"
    copy_placed(snapshot, data, parts, "tpcc")
    parts.link_tables(server, data, "tpcc")
    placed = {"tpcc/order_line#P#p0.ibd", "tpcc/order_line#P#p1.ibd"}
    top = snapshot.folder.parent / "fast" / "tables"
    assert files_below(top) == placed
    links = {"tpcc/order_line#P#p0.isl", "tpcc/order_line#P#p1.isl"}
    assert files_below(data) == set(FILES) - placed | links
    assert (data / "tpcc/order_line#P#p1.isl").read_text() == str(top / "tpcc/order_line#P#p1.ibd")


def test_servers_that_look_into_the_folders_need_no_links(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    server = binary(monkeypatch, (8, 0, 36), innodb_directories="")
    parts = parts_of(snapshot, Placing({}, {"stock": "fast"}))
    data = snapshot.folder.parent / "data"
    copy_placed(snapshot, data, parts, "tpcc")
    parts.link_tables(server, data, "tpcc")
    assert not list(data.rglob("*.isl"))
    assert parts.lines(server, data, {})["innodb_directories"] == str(snapshot.folder.parent / "fast" / "tables")


def test_a_table_that_is_not_there_is_told_with_those_that_are(snapshot: Snapshot) -> None:
    with pytest.raises(UserError, match="no file of a table stok") as refused:
        copied_bytes(snapshot, Placing({}, {"stok": "fast"}), "tpcc")
    assert refused.value.hint == "there is: order_line, orders, stock"


def test_what_is_copied_to_each_storage(snapshot: Snapshot) -> None:
    """A placed redo log is in neither: the settings of the cell say how large it becomes."""
    total = sum(FILES.values()) * BLOCK
    assert copied_bytes(snapshot, Placing(), "tpcc") == (total, {})
    items = {"redo_log": "slow", "undo_logs": "slow"}
    tables = {"stock": "fast", "order_line": "fast"}
    own, placed = copied_bytes(snapshot, Placing(items, tables), "tpcc")
    assert placed == {"slow": 2 * BLOCK, "fast": (7 + 11 + 13) * BLOCK}
    assert own == total - (5 + 2 + 7 + 11 + 13) * BLOCK


@pytest.mark.parametrize(
    ("version", "options", "line"),
    [
        ((5, 1, 73), {"innodb_doublewrite_file": ""}, {"innodb_doublewrite_file": "/fast/doublewrite/ib_doublewrite"}),
        (
            (5, 7, 22),
            {"innodb_parallel_doublewrite_path": "xb_doublewrite"},
            {"innodb_parallel_doublewrite_path": "/fast/doublewrite/xb_doublewrite"},
        ),
        # This one has both, and ignores the older.
        (
            (8, 0, 36),
            {"innodb_parallel_doublewrite_path": "xb_doublewrite", "innodb_doublewrite_dir": ""},
            {"innodb_doublewrite_dir": "/fast/doublewrite"},
        ),
    ],
)
def test_each_server_has_its_own_setting_for_the_doublewrite_buffer(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int], options: Mapping[str, str], line: dict[str, str]
) -> None:
    server = binary(monkeypatch, version, **options)
    placing = Placing({"doublewrite": "fast"})
    placing.require(server, {})
    assert Parts.below(placing, {"fast": Path("/fast")}).lines(server, Path("/data"), {}) == line


@pytest.mark.parametrize(
    ("version", "options", "placed"),
    [
        ((5, 7, 22), {"innodb_undo_tablespaces": "0"}, False),
        ((5, 7, 22), {"innodb_undo_tablespaces": "3"}, True),
        # It has no such option: its undo logs are in files of their own.
        ((9, 7, 4), {"innodb_undo_directory": "./"}, True),
    ],
)
def test_undo_logs_are_placed_if_they_have_files_of_their_own(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int], options: Mapping[str, str], placed: bool
) -> None:
    server = replace(binary(monkeypatch, version, **options), flavour="mysql")
    placing = Placing({"undo_logs": "fast"})
    if placed:
        placing.require(server, {})
    else:
        with pytest.raises(UserError, match="in the system tablespace"):
            placing.require(server, {})
