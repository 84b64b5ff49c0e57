"""Snapshots of a real server: loaded once, copied, found again, resumed after a kill."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from flatwater.errors import Interrupted, UserError
from flatwater.server import (
    Binary,
    Instance,
    ServersRoot,
    Shape,
    Snapshot,
    find_snapshot,
    list_snapshots,
    loading_settings,
    open_loading,
    open_root,
    remove_snapshot,
    translate,
)

DATASET = {"kind": "tpcc", "warehouses": 1, "seed": 42}


@pytest.fixture
def root(tmp_path: Path) -> Iterator[ServersRoot]:
    with open_root(tmp_path) as root:
        yield root


@pytest.fixture
def shape(binary: Binary) -> Shape:
    return Shape.of(binary, DATASET, {"innodb_file_per_table": "ON", "innodb_io_capacity": "9"}, dataset_version=1)


def _load(root: ServersRoot, shape: Shape, binary: Binary, empty_data: Path) -> Snapshot:
    loading = open_loading(root, shape)
    shutil.copytree(empty_data, loading.folder / "data")
    chosen = loading_settings(binary, memory_bytes=2**30, data_bytes=2**20)
    with Instance(binary, loading.folder, shape.settings, chosen=chosen) as instance:
        instance.start()
        instance.query("CREATE DATABASE tpcc")
        instance.query("CREATE TABLE tpcc.t (a INT PRIMARY KEY) ENGINE=InnoDB")
        instance.query("INSERT INTO tpcc.t VALUES (1), (2), (3)")
        instance.stop()
    return loading.commit()


def test_a_snapshot_is_loaded_once_and_copied(
    root: ServersRoot, shape: Shape, binary: Binary, empty_data: Path
) -> None:
    assert find_snapshot(root, shape) is None
    made = _load(root, shape, binary, empty_data)
    assert find_snapshot(root, shape) == made
    assert list_snapshots(root.path.parent) == [made]
    assert sorted(path.name for path in made.folder.iterdir()) == ["data", "error.log", "snapshot.json"]
    assert root.loading.names() == []
    before = {path: path.stat().st_mtime_ns for path in made.data.rglob("*")}
    # Another size of the redo log than it was loaded with.
    for redo in ("12M", "48M"):
        settings = translate({"innodb_log_file_size": redo, "innodb_buffer_pool_size": "16M"}, binary)
        with Instance(binary, root.run_folder("0000-0"), settings) as instance:
            copied = made.copy_to(instance.data)
            assert copied.bytes <= made.size_bytes()
            assert not (instance.data / "ib_buffer_pool").exists()
            instance.start()
            assert instance.query("SELECT COUNT(*) FROM tpcc.t") == [("3",)]
            assert instance.adjusted() == {}
            instance.query("DELETE FROM tpcc.t")
            instance.stop()
    assert {path: path.stat().st_mtime_ns for path in made.data.rglob("*")} == before


def test_what_was_loaded_is_at_rest(root: ServersRoot, shape: Shape, binary: Binary, empty_data: Path) -> None:
    made = _load(root, shape, binary, empty_data)
    with Instance(binary, root.run_folder("0000-0"), {"innodb_buffer_pool_size": "16M"}) as instance:
        made.copy_to(instance.data)
        instance.start()
        status = dict(instance.query("SHOW GLOBAL STATUS LIKE 'Innodb%'"))
        # Nothing is left to purge or to merge, and nothing is dirty.
        assert int(status.get("Innodb_history_list_length") or 0) <= 1
        assert instance.query("SELECT @@innodb_doublewrite") == [("1",)]
        assert "Log sequence" in (instance.query("SHOW ENGINE INNODB STATUS")[0][2] or "")


def test_only_what_shapes_the_bytes_makes_another_snapshot(binary: Binary, shape: Shape) -> None:
    def key(settings: dict[str, str], dataset: dict[str, object] = DATASET, version: int = 1) -> str:
        return Shape.of(binary, dataset, settings, dataset_version=version).key

    same = {"innodb_io_capacity": "200", "innodb_file_per_table": "ON"}
    assert shape.key == key(same) == key(same, dict(reversed(DATASET.items())))
    assert len(shape.key) == 16
    others = [
        key({"innodb_page_size": "4K"}),
        key(same, DATASET | {"warehouses": 2}),
        key(same, version=2),
        replace(shape, version=(10, 11, 0)).key,
        replace(shape, flavour="percona").key,
    ]
    assert len({shape.key, *others}) == 6


def test_a_load_that_was_killed_goes_on(root: ServersRoot, shape: Shape, binary: Binary, empty_data: Path) -> None:
    first = open_loading(root, shape)
    assert not first.resumed
    # Nothing was made in it: it begins anew.
    assert not open_loading(root, shape).resumed
    shutil.copytree(empty_data, first.folder / "data")
    chosen = loading_settings(binary, memory_bytes=2**30, data_bytes=2**20)
    with Instance(binary, first.folder, shape.settings, chosen=chosen) as instance:
        instance.start()
        instance.query("CREATE DATABASE half")
        instance.kill()
    again = open_loading(root, shape)
    assert again.resumed
    with Instance(binary, again.folder, shape.settings, chosen=chosen) as instance:
        instance.start()
        assert ("half",) in instance.query("SHOW DATABASES")
        instance.stop()
    assert again.commit() == find_snapshot(root, shape)


def test_what_an_earlier_boot_half_loaded_is_not_trusted(root: ServersRoot, shape: Shape) -> None:
    first = open_loading(root, shape)
    (first.folder / "data").mkdir()
    (first.folder / "data/ibdata1").write_text("torn")
    (first.folder / "loading.json").write_text(json.dumps({"boot_id": "of another day"}))
    again = open_loading(root, shape)
    assert not again.resumed
    assert not (again.folder / "data").exists()


def test_a_data_directory_that_was_not_finished_is_begun_anew(root: ServersRoot, shape: Shape, binary: Binary) -> None:
    first = open_loading(root, shape)
    with Instance(binary, first.folder, shape.settings) as instance, pytest.raises(Interrupted):
        instance.initialise(stop=(first.folder / "data/ibdata1").exists)
    assert (first.folder / "initialise.log").exists()
    assert not open_loading(root, shape).resumed
    with Instance(binary, first.folder, shape.settings) as instance:
        instance.initialise()
    assert open_loading(root, shape).resumed


def test_what_turns_out_damaged_is_begun_anew(root: ServersRoot, shape: Shape) -> None:
    first = open_loading(root, shape)
    (first.folder / "data").mkdir()
    (first.folder / "data/ibdata1").write_text("torn")
    assert open_loading(root, shape).resumed
    assert not first.discard().resumed
    assert not (first.folder / "data").exists()


def _fake(root: ServersRoot, shape: Shape) -> Path:
    folder = root.snapshots.make_folder(shape.key)
    (folder / "data").mkdir(exist_ok=True)
    (folder / "snapshot.json").write_text(json.dumps(shape.to_json()))
    (folder / "data/ibdata1").write_bytes(os.urandom(8192))
    for name in ("ib_logfile0", "ib_logfile1", "ib_buffer_pool", "auto.cnf", "ibtmp1", "server.pid"):
        (folder / "data" / name).write_text(name)
    return folder


def test_old_servers_make_their_redo_log_anew(root: ServersRoot, shape: Shape, tmp_path: Path) -> None:
    for flavour, version, redo in (
        ("mysql", (5, 5, 9), []),
        ("percona", (5, 6, 40), []),
        ("mariadb", (5, 5, 60), []),
        ("mysql", (8, 0, 36), ["ib_logfile0", "ib_logfile1"]),
    ):
        of = replace(shape, flavour=flavour, version=version)
        _fake(root, of)
        found = find_snapshot(root, of)
        assert found is not None
        target = tmp_path / f"{flavour}-{version}"
        found.copy_to(target)
        assert sorted(path.name for path in target.iterdir()) == sorted(["ibdata1", *redo])


def test_snapshots_can_be_removed(root: ServersRoot, shape: Shape) -> None:
    folder = _fake(root, shape)
    assert [snapshot.size_bytes() for snapshot in list_snapshots(root.path.parent)] > [8192]
    remove_snapshot(root, shape.key)
    assert not folder.exists()
    for key in (shape.key, "..", "../snapshots", ""):
        with pytest.raises(UserError, match="there is no snapshot"):
            remove_snapshot(root, key)


@pytest.mark.parametrize("put", ["data/mine", "data/inner/link", "mine", "snapshot.json"])
def test_what_somebody_put_into_one_is_not_deleted(root: ServersRoot, shape: Shape, tmp_path: Path, put: str) -> None:
    loading = open_loading(root, shape)
    (loading.folder / "data/inner").mkdir(parents=True)
    (loading.folder / "data/ibdata1").write_bytes(bytes(8192))
    place = loading.commit().folder / put
    place.unlink(missing_ok=True)
    if put.endswith("link"):
        place.symlink_to(tmp_path, target_is_directory=True)
    elif put == "snapshot.json":
        os.mkfifo(place)
    else:
        place.write_text("keep")
    with pytest.raises(UserError, match=f"flatwater did not make {put}: nothing is deleted"):
        remove_snapshot(root, shape.key)
    assert os.path.lexists(place) and root.snapshots.holds(shape.key)
    place.unlink()
    remove_snapshot(root, shape.key)
    assert not root.snapshots.holds(shape.key)


def test_nothing_of_one_is_deleted_where_something_is_mounted_in_it(
    root: ServersRoot, shape: Shape, tmp_path: Path, as_root: None, undo: ExitStack
) -> None:
    folder = _fake(root, shape)
    for made in (folder / "mounted", tmp_path / "mine"):
        made.mkdir()
    before = sorted(folder.rglob("*"))
    subprocess.run(["mount", "--bind", tmp_path / "mine", folder / "mounted"], check=True)
    undo.callback(subprocess.run, ["umount", folder / "mounted"], check=True)
    with pytest.raises(UserError, match=r"something is mounted on .*mounted: nothing there will be deleted"):
        remove_snapshot(root, shape.key)
    assert sorted(folder.rglob("*")) == before


def test_what_is_not_whole_is_no_snapshot(root: ServersRoot, shape: Shape, tmp_path: Path) -> None:
    folder = _fake(root, shape)
    for damage in (
        "[",
        "{}",
        json.dumps(shape.to_json() | {"flavour": "oracle"}),
        json.dumps(shape.to_json() | {"version": 3}),
    ):
        (folder / "snapshot.json").write_text(damage)
        assert find_snapshot(root, shape) is None
        assert list_snapshots(root.path.parent) == []
    (folder / "snapshot.json").write_text(json.dumps(replace(shape, dataset_version=9).to_json()))
    assert find_snapshot(root, shape) is None
    assert list_snapshots(tmp_path / "elsewhere") == []
