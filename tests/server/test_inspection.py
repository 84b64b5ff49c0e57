"""Snapshots are listed with what is wrong with them; the damage is planted."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.server import (
    ServersRoot,
    Shape,
    Snapshot,
    inspect_snapshots,
    open_loading,
    open_root,
    snapshot_fault,
)

SHAPE = Shape("mariadb", (10, 11, 6), "10.11.6", {"kind": "tpcc", "warehouses": 1}, 1, {})


@pytest.fixture
def root(tmp_path: Path) -> Iterator[ServersRoot]:
    with open_root(tmp_path) as root:
        yield root


@pytest.fixture
def snapshot(root: ServersRoot) -> Snapshot:
    loading = open_loading(root, SHAPE)
    (loading.folder / "data" / "sbtest").mkdir(parents=True)
    for name in ("ibdata1", "sbtest/t.ibd", "ib_logfile0"):
        (loading.folder / "data" / name).write_bytes(bytes(32768))
    return loading.commit()


def state(storage: Path, *, pages: bool = False) -> tuple[str, tuple[str, ...]]:
    (one,) = inspect_snapshots(storage, pages=pages)
    return one.state, one.faults


def test_a_sound_one(snapshot: Snapshot, tmp_path: Path) -> None:
    (one,) = inspect_snapshots(tmp_path, pages=True)
    assert (one.state, one.faults, one.shape, one.folder) == ("sound", (), SHAPE, snapshot.folder)
    assert one.size_bytes and one.made_at and snapshot_fault(snapshot) is None


def truncate(folder: Path) -> None:
    os.truncate(folder / "data/sbtest/t.ibd", 100)


def scribble(folder: Path) -> None:
    with (folder / "data/sbtest/t.ibd").open("r+b") as handle:
        handle.seek(16384)
        handle.write(b"\xff" * 512)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a short file": (truncate, "data/sbtest/t.ibd has 100 bytes, and had 32,768"),
    "no file": (lambda folder: (folder / "data/ibdata1").unlink(), "data/ibdata1: no such file"),
    "no data": (lambda folder: shutil.rmtree(folder / "data"), "its data directory is missing"),
    "no record": (lambda folder: (folder / "snapshot.json").unlink(), "snapshot.json is missing or damaged"),
    "no json": (lambda folder: (folder / "snapshot.json").write_text("["), "snapshot.json is missing or damaged"),
    "a list": (lambda folder: (folder / "snapshot.json").write_text("[]"), "snapshot.json is missing or damaged"),
    "files": (
        lambda folder: (folder / "snapshot.json").write_text(json.dumps(SHAPE.to_json() | {"files": []})),
        "snapshot.json is missing or damaged",
    ),
    "a pipe": (lambda folder: _pipe(folder / "snapshot.json"), "snapshot.json is missing or damaged"),
    "a foreign file": (lambda folder: (folder / "data/mine").touch(), "data/mine was not made by flatwater"),
    "a foreign link": (
        lambda folder: (folder / "data/sbtest/there").symlink_to("/tmp"),
        "data/sbtest/there was not made by flatwater",
    ),
    "a foreign file beside": (lambda folder: (folder / "mine").touch(), "mine was not made by flatwater"),
}


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_told(snapshot: Snapshot, tmp_path: Path, name: str) -> None:
    damage, told = DAMAGES[name]
    damage(snapshot.folder)
    found, faults = state(tmp_path)
    assert found == "damaged" and told in faults[0]


def test_a_damaged_page_takes_reading(snapshot: Snapshot, tmp_path: Path) -> None:
    scribble(snapshot.folder)
    assert state(tmp_path) == ("sound", ())
    assert state(tmp_path, pages=True) == ("damaged", ("data/sbtest/t.ibd page 1 is damaged",))


def test_one_of_an_older_flatwater_has_no_list_of_files(snapshot: Snapshot, tmp_path: Path) -> None:
    (snapshot.folder / "snapshot.json").write_text(json.dumps(SHAPE.to_json()))
    assert state(tmp_path) == ("sound", ())
    (snapshot.folder / "data/ibdata1").unlink()
    assert state(tmp_path)[0] == "damaged"


def test_what_somebody_put_in_its_place(snapshot: Snapshot, tmp_path: Path) -> None:
    shutil.move(snapshot.folder, tmp_path / "away")
    snapshot.folder.mkdir()
    (snapshot.folder / "mine").write_text("keep")
    assert state(tmp_path)[0] == "not flatwater's"


def test_a_load_that_was_cut_short(root: ServersRoot, tmp_path: Path) -> None:
    open_loading(root, SHAPE)
    assert state(tmp_path)[0] == "unfinished"


def test_where_there_are_none(tmp_path: Path) -> None:
    for path, told in ((tmp_path / "gone", "no such directory"), (tmp_path, "there are no snapshots")):
        with pytest.raises(UserError, match=told):
            inspect_snapshots(path)
    assert list(tmp_path.iterdir()) == []
