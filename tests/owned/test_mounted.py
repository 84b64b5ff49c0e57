"""Places where flatwater makes no file."""

from __future__ import annotations

import io
import re
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from lab import FLATWATER

from flatwater.errors import UserError
from flatwater.experiment import list_devices, load, make_experiment, require_runnable
from flatwater.experiment.database.tls import TLS_FILES
from flatwater.experiment.storage import KINDS
from flatwater.owned import Folder
from flatwater.owned.mounted import require_free_place
from flatwater.results.beside import new_result_folder
from flatwater.results.create import create_result
from flatwater.results.schema import Manifest
from flatwater.runner.check import check
from flatwater.runner.progress import start_reporter
from flatwater.runner.stack.target.opening import open_target
from flatwater.runner.sweep import run_experiment
from flatwater.server.root import open_parts, open_root

OPENERS: dict[str, Callable[[Path], object]] = {
    "the data of own servers": open_root,
    "files of fileio": lambda path: open_target(
        make_experiment({"workload": {"kind": "fileio", "mode": "rndrd"}, "storage": {"path": str(path)}})
    ),
    "parts of own servers": lambda path: open_parts(path, "database.storages.array.path"),
}


@pytest.mark.parametrize("opener", OPENERS.values(), ids=OPENERS)
@pytest.mark.parametrize("inner", ["", "shop", "shop/deeper"])
@pytest.mark.parametrize("mark", ["ibdata1", "#innodb_redo", "aria_log_control"])
def test_nothing_is_made_in_the_data_directory_of_a_server(
    opener: Callable[[Path], object], inner: str, mark: str, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    place = data / inner
    place.mkdir(parents=True)
    (data / mark).touch()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError, match="the data directory of a database server"):
        opener(place)
    assert sorted(tmp_path.rglob("*")) == before


#: A device of each kind that is modelled.
_DEVICES = {one.kind: one.name for one in list_devices()}
#: A storage of each kind that has files, at a path.
STORAGE: dict[str, Callable[[str], dict[str, Any]]] = {
    kind: lambda path, kind=kind: {  # type: ignore[misc]
        "kind": kind,
        "path": path,
        **({} if kind == "file" else {"device": _DEVICES[kind], "real_time": True}),
    }
    for kind in KINDS
}


MANIFEST = Manifest(name="x", flatwater_version="0", status="running", created_at="", seed=1, cells=[])


def _tpcc(storage: dict[str, Any], **tables: Any) -> dict[str, Any]:
    workload = {"kind": "tpcc", "warehouses": 1, "connections": 2}
    return {"workload": workload, "database": {"kind": "server"}, "storage": storage, **tables}


def _placed(storage: dict[str, Any], beside: Path) -> dict[str, Any]:
    database = {"kind": "server", "placement": {"redo_log": "array"}, "storages": {"array": storage}}
    return _tpcc({"kind": "file", "path": str(beside)}, database=database)


#: Where the path of a storage can stand in an experiment.
ROLES: dict[str, Callable[[dict[str, Any], Path], dict[str, Any]]] = {
    "storage": lambda storage, beside: _tpcc(storage),
    "files": lambda storage, beside: {
        "workload": {"kind": "fileio", "mode": "rndrd"},
        "storage": {"size": "64MiB"} | storage,
    },
    "swept": lambda storage, beside: _tpcc(
        storage | {"path": str(beside)}, sweep={"storage.path": [str(beside), storage["path"]]}
    ),
    "cache": lambda storage, beside: _tpcc(
        {"kind": "file", "path": str(beside), "size": "64MiB"},
        cache={"kind": "flash", "size": "16MiB", "storage": storage},
    ),
    "placed": _placed,
}


def _somebodys(tmp_path: Path) -> dict[str, Path]:
    """Folders that belong to a server, and to flatwater."""
    (tmp_path / "data/shop").mkdir(parents=True)
    (tmp_path / "data/ibdata1").touch()
    own = Folder.open(tmp_path / "flatwater-servers", where="storage.path")
    own.make_folder("snapshots")
    own.close()
    return {name: tmp_path / name for name in ("data", "data/shop", "flatwater-servers", "flatwater-servers/snapshots")}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_storage_is_taken_in_a_place_of_somebody(kind: str, role: str, tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    for place in _somebodys(tmp_path).values():
        for path in (place, place / ".." / place.name, _link(tmp_path / f"to-{place.name}", place)):
            experiment = make_experiment(ROLES[role](STORAGE[kind](str(path)), tmp_path / "beside"))
            with pytest.raises(UserError, match=r"data directory of a database server|(which|that) flatwater made"):
                require_runnable(experiment)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_place_that_is_not_there_is_told_before_a_run_ends_for_it(kind: str, role: str, tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    missing = tmp_path / "missing"
    # Files of fileio are made at their path, in the directory above it.
    asked = missing / "file" if role == "files" else missing
    file = tmp_path / "one.toml"
    file.write_text(tomli_w.dumps(ROLES[role](STORAGE[kind](str(asked)), tmp_path / "beside")))
    told = check(str(file), []).absent
    assert len(told) == 1 and re.match(rf"{file}:\d+: [\w.]*path: {missing} is not on this machine", told[0])
    if role == "swept":
        return  # the cells before it are run
    with pytest.raises(UserError, match=str(missing)):
        run_experiment(load(file), tmp_path / "out", start_reporter(io.StringIO()), lambda *_: None)
    assert not missing.exists()


@pytest.mark.parametrize("field", TLS_FILES)
def test_so_is_a_file_of_tls(field: str, tmp_path: Path) -> None:
    pem = tmp_path / "one.pem"
    both = {"ssl_cert": "ssl_key", "ssl_key": "ssl_cert"}
    url, parameter = "mysql://me@db1/shop", field.replace("_", "-")
    for said in ({"url": f"{url}?{parameter}={pem}"}, {"url": url, field: str(pem)}):
        pem.unlink(missing_ok=True)
        database = {"kind": "server", **said}
        if field in both:
            database[both[field]] = str(tmp_path)
        file = tmp_path / "one.toml"
        file.write_text(tomli_w.dumps(_tpcc({"kind": "file"}, database=database)))
        (told,) = check(str(file), []).absent
        assert re.match(
            rf"{file}:\d+: database.{field if field in said else 'url'}: {pem} is not on this machine", told
        )
        pem.touch()
        assert not check(str(file), []).absent


@pytest.mark.parametrize("role", ROLES)
def test_nor_through_a_bind_mount(role: str, as_root: None, undo: ExitStack, tmp_path: Path) -> None:
    """A bind mount shows a folder without those above it."""
    shown = tmp_path / "shown"
    for made in (tmp_path / "beside", shown):
        made.mkdir()
    for place in _somebodys(tmp_path).values():
        with ExitStack() as mounted:
            subprocess.run(["mount", "--bind", place, shown], check=True)
            mounted.callback(subprocess.run, ["umount", shown], check=True)
            for path in (shown, shown / "new"):
                experiment = make_experiment(ROLES[role](STORAGE["file"](str(path)), tmp_path / "beside"))
                with pytest.raises(UserError, match=r"data directory of a database server|(which|that) flatwater made"):
                    require_runnable(experiment)


@pytest.mark.parametrize(
    "names",
    [
        ["t.ibd"],
        ["t.frm", "db.opt"],
        ["auto.cnf"],
        ["PG_VERSION"],
        ["mysql-bin.index"],
        ["host-bin.000001"],
        ["#rocksdb"],
    ],
    ids=lambda names: names[0],
)
def test_what_a_server_keeps_elsewhere_is_its_own_too(names: list[str], tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(UserError, match="of a database server"):
        require_free_place(tmp_path, "storage.path")


MAKERS: dict[str, Callable[[Path], object]] = {
    "a run": lambda out: create_result(out, MANIFEST, "", {}),
    "an import": lambda out: new_result_folder(out).__enter__(),
}


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("inner", ["data/new", "data/shop/new/er"])
def test_no_result_is_made_in_a_data_directory(maker: Callable[[Path], object], inner: str, tmp_path: Path) -> None:
    _somebodys(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError, match=r"^--out: .* the data directory of a database server"):
        maker(tmp_path / inner)
    assert sorted(tmp_path.rglob("*")) == before


def _link(path: Path, to: Path) -> Path:
    if not path.is_symlink():
        path.symlink_to(to)
    return path


@pytest.mark.parametrize("verb", ["emulate", "cache create"])
def test_no_file_of_a_verb_is_made_in_a_place_of_somebody(verb: str, tmp_path: Path) -> None:
    (tmp_path / "backing").write_bytes(bytes(1 << 20))
    for place in _somebodys(tmp_path).values():
        file = str(place / "new")
        arguments = {
            "emulate": ["intel-x25-m", "--file", file, "--mount", str(tmp_path / "mount")],
            "cache create": [file, str(tmp_path / "backing"), "--name", "db", "--size", "16MiB"],
        }[verb]
        ran = subprocess.run([FLATWATER, *verb.split(), *arguments], capture_output=True, text=True, timeout=240)
        assert ran.returncode == 2 and str(place) in ran.stderr, ran.stderr
        assert "data directory of a database server" in ran.stderr or "flatwater made" in ran.stderr
        assert not (place / "new").exists()


def test_two_storages_of_files_are_two_directories(tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    for path in (tmp_path / "beside", tmp_path / "x/../beside", _link(tmp_path / "to", tmp_path / "beside")):
        with pytest.raises(UserError, match=r"is the directory of storage\.path, too"):
            require_runnable(make_experiment(_placed(STORAGE["file"](str(path)), tmp_path / "beside")))
    require_runnable(make_experiment(_placed(STORAGE["file"](str(tmp_path / "x")), tmp_path / "beside")))


def test_the_card_of_the_data_may_hold_a_cache_for_others(tmp_path: Path) -> None:
    storage = STORAGE["file"](str(tmp_path))
    require_runnable(make_experiment(ROLES["cache"](storage, tmp_path)))


def test_nor_one_directory_and_a_bind_mount_of_it(as_root: None, undo: ExitStack, tmp_path: Path) -> None:
    for name in ("beside/in", "shown"):
        (tmp_path / name).mkdir(parents=True)
    subprocess.run(["mount", "--bind", tmp_path / "beside", tmp_path / "shown"], check=True)
    undo.callback(subprocess.run, ["umount", tmp_path / "shown"], check=True)
    for one, other in (("shown", "beside"), ("beside/in", "shown/in"), ("shown/new", "beside/new")):
        with pytest.raises(UserError, match=r"is the directory of storage\.path, too"):
            require_runnable(make_experiment(_placed(STORAGE["file"](str(tmp_path / one)), tmp_path / other)))


def test_a_directory_beside_it_is_taken(tmp_path: Path) -> None:
    _somebodys(tmp_path)
    for path in (tmp_path, tmp_path / "other", tmp_path / "not" / "there"):
        require_free_place(path, "storage.path")
