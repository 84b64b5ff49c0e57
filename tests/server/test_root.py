from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.server import open_root
from flatwater.server.root import open_parts


def test_everything_of_ours_is_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("somebody's")
    with open_root(tmp_path) as root:
        assert root.path == tmp_path / "flatwater-servers"
        run = root.run_folder("0000-0")
        (run / "my.cnf").write_text("")
        assert root.run_folder("0000-0") == run
        assert list(run.iterdir()) == []
        assert root.runs() == ["0000-0"]
        root.remove_run("0000-0")
        assert not run.exists() and root.runs() == []
    assert (tmp_path / "data.csv").read_text() == "somebody's"
    with open_root(tmp_path) as again:
        assert sorted(path.name for path in again.path.iterdir()) == [
            "flatwater-owned.json",
            "loading",
            "run",
            "snapshots",
        ]


def test_a_folder_of_that_name_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "flatwater-servers"
    theirs.mkdir()
    (theirs / "ibdata1").write_text("precious")
    with pytest.raises(UserError, match="was not made by flatwater: nothing in it will be touched"):
        open_root(tmp_path)
    (theirs / "flatwater-owned.json").write_text('{"kind": "something else"}')
    with pytest.raises(UserError, match="it is not known what in"):
        open_root(tmp_path)
    (theirs / "flatwater-owned.json").write_text("[not json")
    with pytest.raises(UserError, match="it is not known what in"):
        open_root(tmp_path)
    assert sorted(path.name for path in theirs.iterdir()) == ["flatwater-owned.json", "ibdata1"]


def test_a_copy_of_our_folder_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    with open_root(tmp_path / "first") as root:
        (root.run_folder("0000-0") / "ibdata1").write_text("data")
    (tmp_path / "second").mkdir()
    subprocess.run(["cp", "-a", tmp_path / "first/flatwater-servers", tmp_path / "second"], check=True)
    with pytest.raises(UserError, match="is a copy of a folder of flatwater's"):
        open_root(tmp_path / "second")
    assert (tmp_path / "second/flatwater-servers/run/0000-0/ibdata1").read_text() == "data"


def test_a_folder_of_an_older_flatwater_has_no_proof(tmp_path: Path) -> None:
    theirs = tmp_path / "flatwater-servers"
    theirs.mkdir()
    (theirs / "flatwater-servers.json").write_text('{"kind": "flatwater-servers", "version": 1}')
    with pytest.raises(UserError, match=r"was made by an older flatwater.*delete it"):
        open_root(tmp_path)


@pytest.mark.parametrize("name", ["snapshots", "loading", "run"])
def test_a_link_in_place_of_a_folder_in_it_leads_nowhere(tmp_path: Path, name: str) -> None:
    mine = tmp_path / "mine"
    (mine / "0000-0").mkdir(parents=True)
    (mine / "0000-0" / "thesis").write_text("precious")
    open_root(tmp_path).close()
    inner = tmp_path / "flatwater-servers" / name
    shutil.rmtree(inner)
    inner.symlink_to(mine)
    with pytest.raises(UserError, match="is in the way: it is a link"):
        open_root(tmp_path)
    assert (mine / "0000-0" / "thesis").read_text() == "precious"


def test_what_somebody_put_into_it_stays(tmp_path: Path) -> None:
    with open_root(tmp_path) as root:
        root.run_folder("0000-0")
        (root.path / "run" / "mine").mkdir()
        (root.path / "run" / "mine" / "thesis").write_text("precious")
        assert root.runs() == ["0000-0"]
        for done in (root.run_folder, root.remove_run):
            with pytest.raises(UserError, match="was not made by flatwater"):
                done("mine")
        assert (root.path / "run" / "mine" / "thesis").read_text() == "precious"


def test_a_link_or_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "flatwater-servers").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="is in the way"):
        open_root(tmp_path)
    (tmp_path / "flatwater-servers").unlink()
    (tmp_path / "flatwater-servers").write_text("")
    with pytest.raises(UserError, match="is in the way"):
        open_root(tmp_path)


def test_a_later_layout_is_left_alone(tmp_path: Path) -> None:
    open_root(tmp_path).close()
    ledger = tmp_path / "flatwater-servers/flatwater-owned.json"
    ledger.write_text(json.dumps(json.loads(ledger.read_text()) | {"version": 2}))
    with pytest.raises(UserError, match="of a later flatwater"):
        open_root(tmp_path)


def test_two_runs_do_not_share_it(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from flatwater.server import open_root\n"
        f"root = open_root(Path({str(tmp_path)!r})); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(UserError, match="another flatwater is using"):
            open_root(tmp_path)
        other.kill()
    open_root(tmp_path).close()


def test_a_run_that_was_killed_while_it_made_the_folder_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "flatwater-servers").mkdir()
    open_root(tmp_path).close()


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"storage\.path: .*absent does not exist \(hint: mkdir -p "):
        open_root(tmp_path / "absent")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is not a directory"):
        open_root(tmp_path / "file")
    with pytest.raises(UserError, match="cannot use"):
        open_root(Path("/" + "x" * 5000))


def test_a_read_only_file_system_is_refused(tmp_path: Path, mount: Callable[..., Path]) -> None:
    place = mount("none", "-t", "tmpfs", "-o", "ro,size=1m")
    with pytest.raises(UserError, match="is not writable"):
        open_root(place)


def test_what_a_killed_run_left_in_its_private_folders_is_deleted(tmp_path: Path) -> None:
    left, precious = tmp_path / "flatwater-abcdefgh", tmp_path / "flatwater-of-mine"
    with open_root(tmp_path) as root:
        for number, folder in enumerate((left, precious, tmp_path / "absent")):
            run = root.run_folder(f"0000-{number}")
            (run / "my.cnf").write_text(f"[mysqld]\nsocket = {folder}/mysql.sock\n")
    for folder in (left, precious):
        folder.mkdir()
        (folder / "init.sql").write_text("GRANT ... IDENTIFIED BY 'secret'")
    open_root(tmp_path).close()
    assert not left.exists()
    assert (precious / "init.sql").exists()


@pytest.mark.parametrize(("sign", "name"), [(":", "colon"), (";", "semicolon")])
@pytest.mark.parametrize("opened", [open_root, lambda path: open_parts(path, "storage.path")])
def test_a_path_that_a_server_takes_for_several_is_told_before_anything_is_made(
    tmp_path: Path, opened: Callable[[Path], object], sign: str, name: str
) -> None:
    place = tmp_path / f"a{sign}b"
    place.mkdir()
    with pytest.raises(UserError, match=rf"storage\.path: the path has a {name}"):
        opened(place)
    assert not list(place.iterdir())


@pytest.mark.parametrize("name", ["a\nb", "a\tb", "a\x1b[31mb"])
def test_a_path_that_no_option_file_can_hold_is_told_before_anything_is_made(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(UserError, match=r"storage\.path: the path has a line end or another control character"):
        open_root(tmp_path / name)
    assert not list((tmp_path / name).iterdir())
