"""A folder of flatwater's: only what it made there is opened, renamed or deleted, whatever a name has become."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from flatwater.errors import FlatwaterError, UserError
from flatwater.owned import Folder
from flatwater.owned.folder import LEDGER

WHERE = "storage.path"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    made = Folder.open(tmp_path / "ours", where=WHERE)
    yield made
    made.close()


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Somebody's folder, with something precious in it."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "content").write_text("precious")
    return tmp_path / "mine"


def make(folder: Folder, name: str, text: bytes = b"ours") -> None:
    with os.fdopen(folder.make_file(name), "wb") as handle:
        handle.write(text)


#: Everything that can be done with an entry.
DONE: dict[str, Callable[[Folder, str], object]] = {
    "make_file": lambda folder, name: os.close(folder.make_file(name)),
    "make_folder": lambda folder, name: folder.make_folder(name),
    "open_file": lambda folder, name: folder.open_file(name),
    "read_text": lambda folder, name: folder.read_text(name),
    "write_text": lambda folder, name: folder.write_text(name, "ours"),
    "holds": lambda folder, name: folder.holds(name),
    "require_removable": lambda folder, name: folder.require_removable(name),
    "remove": lambda folder, name: folder.remove(name),
    "move": lambda folder, name: folder.move(name, folder, "other"),
    "move over it": lambda folder, name: folder.move("ours", folder, name),
}


def test_nothing_that_a_folder_can_do_is_forgotten() -> None:
    verbs = {name for name in vars(Folder) if not name.startswith("_")}
    tested = {name.split()[0] for name in DONE}
    # Those without an entry, and those that touch no file.
    assert verbs - tested == {"open", "find", "close", "lock", "path_of", "names", "forget", "remove_all"}


#: What somebody may have put where flatwater's file was.
PUT: dict[str, Callable[[Path, Path], object]] = {
    "a file": lambda path, mine: shutil.copy(mine / "content", path),
    "a folder": lambda path, mine: shutil.copytree(mine, path),
    "a link to a file": lambda path, mine: path.symlink_to(mine / "content"),
    "a link to a folder": lambda path, mine: path.symlink_to(mine),
    "a link to nowhere": lambda path, mine: path.symlink_to(mine / "absent"),
    "another name of a file": lambda path, mine: path.hardlink_to(mine / "content"),
    "a FIFO": lambda path, mine: os.mkfifo(path),
}


@pytest.mark.parametrize("put", PUT)
@pytest.mark.parametrize("done", DONE)
@pytest.mark.parametrize("before", ["never ours", "ours before"])
def test_what_is_not_ours_is_refused_and_untouched(
    folder: Folder, mine: Path, done: str, put: str, before: str
) -> None:
    make(folder, "ours")
    if before == "ours before":
        make(folder, "content")
        (folder.path / "content").unlink()
    PUT[put](folder.path / "content", mine)
    before_it = _look(folder.path / "content", mine)
    with pytest.raises((UserError, FlatwaterError), match=r"was not made by flatwater|cannot use"):
        DONE[done](folder, "content")
    assert _look(folder.path / "content", mine) == before_it
    assert (folder.path / "ours").read_bytes() == b"ours"


def _look(path: Path, mine: Path) -> object:
    texts = {file.name: file.read_text() for file in mine.iterdir()}
    info = path.lstat()
    return texts, info.st_ino, info.st_mode, info.st_size, info.st_mtime_ns


def test_what_is_ours_is_made_opened_and_deleted(tmp_path: Path, folder: Folder) -> None:
    make(folder, "content")
    assert folder.read_text("content") == "ours" and folder.holds("content")
    inner = folder.make_folder("data")
    (inner / "deep").mkdir()
    (inner / "deep" / "file").write_text("")
    assert folder.make_folder("data") == inner, "it stays as it is"
    assert (inner / "deep" / "file").exists()
    assert folder.names() == ["content", "data"]
    folder.close()
    again = Folder.open(tmp_path / "ours", where=WHERE)
    assert again.read_text("content") == "ours"
    again.remove("data")
    again.remove("absent")
    again.remove_all()
    assert list(tmp_path.iterdir()) == [], "and nothing is left"


def test_links_in_a_folder_of_ours_are_deleted_and_not_followed(folder: Folder, mine: Path) -> None:
    inner = folder.make_folder("data")
    (inner / "link").symlink_to(mine)
    folder.remove("data")
    assert (mine / "content").read_text() == "precious" and not inner.exists()


@pytest.mark.parametrize("name", ["plain", "two words", "back\\slash", "línea"])
@pytest.mark.parametrize("done", ["remove", "remove_all", "make_file"])
def test_what_is_mounted_in_it_is_not_deleted(
    folder: Folder, mine: Path, as_root: None, undo: ExitStack, name: str, done: str
) -> None:
    """Of a bind mount, neither the device number nor `rm --one-file-system` tells."""
    place = folder.make_folder("data") / name
    place.mkdir()
    subprocess.run(["mount", "--bind", mine, place], check=True)
    undo.callback(subprocess.run, ["umount", place], check=True)
    if done == "remove_all":
        folder.remove_all()
    else:
        with pytest.raises(UserError, match=f"something is mounted on .*{re.escape(name)}"):
            DONE[done](folder, "data")
    assert (mine / "content").read_text() == "precious"


def test_a_ledger_of_somebody_else_is_not_believed(folder: Folder, as_root: None) -> None:
    make(folder, "content")
    folder.close()
    os.chown(folder.path / LEDGER, 65534, 65534)
    with pytest.raises(UserError, match=f"{LEDGER} belongs to another user"):
        Folder.open(folder.path, where="storage.path")


@pytest.mark.parametrize("name", ["../mine", "..", ".", "", "data/../../mine", "/tmp"])
def test_a_ledger_with_a_name_that_leads_elsewhere_is_none(folder: Folder, mine: Path, name: str) -> None:
    make(folder, "content")
    folder.close()
    ledger = json.loads((folder.path / LEDGER).read_text())
    ledger["entries"][name] = ledger["entries"]["content"]
    (folder.path / LEDGER).write_text(json.dumps(ledger))
    with pytest.raises(UserError, match="is damaged"):
        Folder.open(folder.path, where="storage.path")
    assert (mine / "content").read_text() == "precious" and (folder.path / "content").exists()


def test_what_others_put_into_it_stays_when_all_of_ours_goes(folder: Folder) -> None:
    make(folder, "content")
    (folder.path / "notes").write_text("precious")
    folder.remove_all()
    assert (folder.path / "notes").read_text() == "precious"
    assert not (folder.path / "content").exists()


@pytest.mark.parametrize("put", ["a link to a folder", "a file", "a folder", "a FIFO", "a link to nowhere"])
def test_a_folder_that_is_not_ours_is_refused(tmp_path: Path, mine: Path, put: str) -> None:
    PUT[put](tmp_path / "ours", mine)
    for opened in (Folder.open, Folder.find):
        with pytest.raises(UserError, match=r"is in the way|was not made by flatwater"):
            opened(tmp_path / "ours", where=WHERE)
    assert (mine / "content").read_text() == "precious"
    assert not list(tmp_path.rglob(LEDGER)) and not list(tmp_path.rglob(".flatwater-*"))


@pytest.mark.parametrize("filled", [False, True])
def test_a_folder_that_another_user_planted_is_not_ours(
    tmp_path: Path, folder: Folder, as_root: None, filled: bool
) -> None:
    path = folder.path if filled else tmp_path / "planted"
    path.mkdir(exist_ok=True)
    os.chown(path, 65534, 65534)
    before = sorted(path.iterdir())
    for opened in (Folder.open, Folder.find):
        with pytest.raises(UserError, match=r"belongs to another user \(65534\)"):
            opened(path, where=WHERE)
    assert sorted(path.iterdir()) == before


def test_a_copy_of_it_is_not_ours(tmp_path: Path, folder: Folder) -> None:
    make(folder, "content")
    subprocess.run(["cp", "-a", folder.path, tmp_path / "copy"], check=True)
    with pytest.raises(UserError, match="is a copy of a folder of flatwater's"):
        Folder.open(tmp_path / "copy", where=WHERE)
    # What was moved is still the same.
    folder.path.rename(tmp_path / "moved")
    moved = Folder.open(tmp_path / "moved", where=WHERE)
    assert moved.read_text("content") == "ours"
    moved.close()


def test_is_used_by_one_run_at_a_time(tmp_path: Path, folder: Folder) -> None:
    folder.lock()
    other = Folder.open(tmp_path / "ours", where=WHERE)
    with pytest.raises(UserError, match="another flatwater is using"):
        other.lock()
    folder.close()
    other.lock()
    other.close()


def test_a_folder_that_cannot_have_its_name_is_not_left(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder.path / "taken").mkdir()
    monkeypatch.setattr(folder, "holds", lambda name: False)  # it was made right after that
    with pytest.raises(UserError, match="was not made by flatwater"):
        folder.make_folder("taken")
    assert [path.name for path in folder.path.iterdir() if path.name.startswith(".")] == []


def test_a_full_disk_leaves_nothing_half_made(tmpfs: Callable[[int], Path]) -> None:
    place = tmpfs(1)
    folder = Folder.open(place / "ours", where=WHERE)
    (place / "filler").write_bytes(b"")
    with (place / "filler").open("wb", buffering=0) as handle:
        try:
            while handle.write(bytes(4096)):
                pass
        except OSError:
            pass
    with pytest.raises(FlatwaterError, match="No space left on device"):
        folder.write_text("content", "x" * 8192)
    folder.close()
    (place / "filler").unlink()
    again = Folder.open(place / "ours", where=WHERE)
    again.write_text("content", "whole")
    assert again.read_text("content") == "whole"
    assert [path.name for path in again.path.iterdir() if path.name.startswith(".")] == []
    again.close()


def test_an_empty_folder_is_taken_only_to_write(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert Folder.find(tmp_path / "empty", where=WHERE) is None
    assert not list((tmp_path / "empty").iterdir())
    Folder.open(tmp_path / "empty", where=WHERE).close()
    found = Folder.find(tmp_path / "empty", where=WHERE)
    assert found is not None
    found.close()
