from __future__ import annotations

from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.experiment import find_missing, load, require_runnable


def test_a_template_needs_a_path() -> None:
    with pytest.raises(UserError, match=r"^quick: storage.path is missing \(hint: --set storage.path=DIR "):
        require_runnable(load("quick"))
    require_runnable(load("quick", ["storage.path=/tmp"]))


def test_files_need_a_size(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "new", Path("/dev/null"), "x" * 5000):
        with pytest.raises(UserError, match=r"storage.size is missing.*\(hint: --set storage.size=4GiB\)"):
            require_runnable(load("fill-level", [f"storage.path={path}"]))
    require_runnable(load("fill-level", [f"storage.path={tmp_path}", "storage.size=1GiB"]))


def test_every_swept_path_and_size_counts(tmp_path: Path) -> None:
    require_runnable(load("quick", [f'sweep.storage.path=["{tmp_path}/a", "{tmp_path}/b"]']))
    swept = [f"storage.path={tmp_path}", 'sweep.storage.size=["1GiB", "2GiB"]']
    require_runnable(load("fill-level", swept))


def test_a_block_device_knows_its_size(tmp_path: Path) -> None:
    devices = [path for path in Path("/dev").glob("*") if path.is_block_device()]
    if not devices:
        pytest.skip("no block device here")
    require_runnable(load("fill-level", [f"storage.path={devices[0]}"]))


SERVER = """[workload]
kind = "tpcc"
[database]
kind = "server"
"""


@pytest.fixture
def server(tmp_path: Path) -> Path:
    path = tmp_path / "server.toml"
    path.write_text(SERVER)
    return path


def test_a_server_needs_a_directory_and_no_size(server: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"storage.path is missing: the directory in which .* puts the server's files"):
        require_runnable(load(server))
    require_runnable(load(server, [f"storage.path={tmp_path}"]))
    require_runnable(load(server, [f"storage.path={tmp_path}/new"]))
    with pytest.raises(UserError, match=r"is not a directory, which a server needs"):
        require_runnable(load(server, [f"storage.path={server}"]))
    with pytest.raises(UserError, match=r"server.toml is not a directory"):
        require_runnable(load(server, [f'sweep.storage.path=["{tmp_path}", "{server}"]']))


def test_a_server_that_runs_already_needs_no_place(server: Path) -> None:
    require_runnable(load(server, ["database.url=mysql://me@db/"]))
    require_runnable(load(server, ['sweep.database.url=["mysql://me@db/", "mysql://me@other/"]']))


@pytest.mark.parametrize(
    ("name", "lines", "fields"),
    [
        ("quick", [], ["storage.path"]),
        ("fill-level", [], ["storage.path", "storage.size"]),
        ("fill-level", ["storage.path=/nosuch"], ["storage.size"]),
        ("tpcc-quick", [], ["storage.path"]),
        ("fill-level-duo-320", [], []),
        ("quick", ["storage.path=/tmp"], []),
    ],
)
def test_everything_that_is_missing_is_found(name: str, lines: list[str], fields: list[str]) -> None:
    assert list(dict.fromkeys(one.field for one in find_missing(load(name, lines)))) == fields
