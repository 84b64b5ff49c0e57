"""`flatwater snapshots`: lists, checks, and deletes what flatwater made, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from lab import Lab

from flatwater.cli.snapshots import make_app
from flatwater.cli.snapshots.arguments import dataset_text
from flatwater.server import Shape, open_loading, open_root

VERBS = ("list", "check", "delete")
SHAPES = [Shape("mariadb", (10, 11, 6), "10.11.6", {"kind": "tpcc", "warehouses": number}, 1, {}) for number in (1, 2)]


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    """A directory with two snapshots, of which the second is damaged."""
    place = tmp_path / "a place"
    place.mkdir()
    with open_root(place) as root:
        for shape in SHAPES:
            loading = open_loading(root, shape)
            (loading.folder / "data").mkdir()
            (loading.folder / "data/ibdata1").write_bytes(bytes(32768))
            made = loading.commit()
    os.truncate(made.data / "ibdata1", 7)
    return place


def folders(storage: Path) -> set[str]:
    return {path.name for path in (storage / "flatwater-servers/snapshots").iterdir() if path.is_dir()}


def test_all_sub_verbs_are_registered() -> None:
    assert tuple(command.name for command in make_app().registered_commands) == VERBS


def test_list_and_check(lab: Lab, storage: Path) -> None:
    sound, damaged = (shape.key for shape in SHAPES)
    ran = lab.run("list", storage, verb="snapshots")
    assert ran.code == 0, ran.stderr
    assert "tpcc, warehouses 1" in ran.stdout and "mariadb 10.11.6" in ran.stdout
    assert f"{damaged}: data/ibdata1 has 7 bytes, and had 32,768" in ran.stdout
    told = {
        one["key"]: one for one in json.loads(lab.run("list", storage, "--json", verb="snapshots").stdout)["snapshots"]
    }
    assert (told[sound]["state"], told[damaged]["state"]) == ("sound", "damaged")
    assert told[sound]["dataset"] == {"kind": "tpcc", "warehouses": 1} and told[sound]["size_bytes"] > 0
    checked = lab.run("check", storage, verb="snapshots")
    assert checked.code == 1 and f"flatwater snapshots delete '{storage}' {damaged}" in checked.error
    assert lab.run("check", storage, sound, verb="snapshots").code == 0
    assert lab.run("list", storage / "flatwater-servers", verb="snapshots").stdout == ran.stdout


def test_nothing_is_deleted_unasked(lab: Lab, storage: Path) -> None:
    before = folders(storage)
    ran = lab.run("delete", storage, "--damaged", verb="snapshots")
    assert ran.code == 2 and f"would destroy {SHAPES[1].key} (tpcc, warehouses 2 on mariadb 10.11.6" in ran.error
    for arguments in ((), ("--all", "--damaged"), ("none", "--yes"), ("..", "--yes")):
        ran = lab.run("delete", storage, *arguments, verb="snapshots")
        assert ran.code == 2 and ran.error, arguments
    assert folders(storage) == before


def test_the_damaged_one_is_deleted(lab: Lab, storage: Path) -> None:
    ran = lab.run("delete", storage, "--damaged", "--yes", "--json", verb="snapshots")
    assert ran.code == 0, ran.stderr
    assert [one["key"] for one in json.loads(ran.stdout)["deleted"]] == [SHAPES[1].key]
    assert folders(storage) == {SHAPES[0].key}
    assert lab.run("delete", storage, "--all", "--yes", verb="snapshots").code == 0
    assert folders(storage) == set()


def test_what_is_not_flatwaters_stays(lab: Lab, storage: Path) -> None:
    folder = storage / "flatwater-servers/snapshots" / SHAPES[0].key
    shutil.move(folder, storage / "away")
    folder.mkdir()
    (folder / "mine").write_text("keep")
    assert lab.run("delete", storage, "--all", "--yes", verb="snapshots").code == 0
    ran = lab.run("delete", storage, SHAPES[0].key, "--yes", verb="snapshots")
    assert ran.code == 2 and "not made by flatwater" in ran.error
    assert (folder / "mine").read_text() == "keep"


def test_nothing_is_deleted_if_one_holds_what_somebody_put_there(lab: Lab, storage: Path) -> None:
    mine = storage / "flatwater-servers/snapshots" / SHAPES[1].key / "data/mine"
    mine.write_text("keep")
    ran = lab.run("delete", storage, "--all", "--yes", verb="snapshots")
    assert ran.code == 2 and "flatwater did not make data/mine: nothing is deleted (hint: move it away)" in ran.error
    assert len(folders(storage)) == 2 and mine.read_text() == "keep"


def test_one_that_a_run_uses(lab: Lab, storage: Path) -> None:
    with open_root(storage):
        assert lab.run("list", storage, verb="snapshots").code == 0
        ran = lab.run("delete", storage, "--all", "--yes", verb="snapshots")
    assert ran.code == 2 and "another flatwater is using" in ran.error
    assert len(folders(storage)) == 2


def test_where_there_are_none(lab: Lab, tmp_path: Path) -> None:
    for verb in VERBS:
        ran = lab.run(verb, tmp_path, *(["--all"] if verb == "delete" else []), verb="snapshots")
        assert ran.code == 2 and "there are no snapshots" in ran.error
    assert not (tmp_path / "flatwater-servers").exists()


def test_keys_are_completed(storage: Path) -> None:
    from types import SimpleNamespace
    from typing import cast

    from flatwater.cli.snapshots.arguments import complete_key

    context = cast("Any", SimpleNamespace(params={"storage": storage}))
    key = SHAPES[0].key
    assert complete_key(context, key[:6]) == [key]
    assert complete_key(cast("Any", SimpleNamespace(params={"storage": storage / "gone"})), "") == []


@pytest.mark.parametrize(
    ("dataset", "text"),
    [
        ({"kind": "tpcc", "warehouses": 2, "tables": {"name": "tproc-c", "partitions": 0, "history_key": True}},
         "tpcc, warehouses 2, tproc-c, history_key"),
        ({"kind": "oltp", "tables": 4, "rows": 1000}, "oltp, tables 4, rows 1000"),
        ({"kind": "sql", "setup": {"file_digest": "ee35b827bdea", "statements": []}}, "sql, setup_file ee35b827"),
        ({"kind": "sql", "setup": {"file_digest": "", "statements": [{"sql": "CREATE TABLE t (a INT)", "times": 1}]}},
         "sql, CREATE TABLE t (a INT)"),
    ],
)  # fmt: skip
def test_data_are_told_in_words(dataset: dict[str, Any], text: str) -> None:
    shape = Shape("mariadb", (10, 11, 6), "10.11.6", dataset, 1, {})
    assert dataset_text(shape) == text
