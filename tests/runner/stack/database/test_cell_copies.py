"""The copies that a cell's servers work on, without any server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flatwater.runner.progress import SilentReporter
from flatwater.runner.stack.database.real.cell_copies import CellCopies
from flatwater.runner.stack.database.real.copies import SERVERS, kept_token
from flatwater.runner.stack.database.real.elsewhere import Elsewhere
from flatwater.server import ServersRoot, open_root

BINARY: Any = SimpleNamespace(flavour="mariadb", version_text="10.11.1")


class Loaded:
    """A snapshot of one file."""

    def copy_to(self, folder: Path, on_progress: object, stop: object) -> Any:
        folder.mkdir()
        (folder / "ibdata1").write_text("rows")
        return SimpleNamespace(how="copy")


LOADED: Any = Loaded()


class Notes(SilentReporter):
    def __init__(self) -> None:
        self.told: list[str] = []

    def note(self, text: str) -> None:
        self.told.append(text)


@pytest.fixture
def root(tmp_path: Path) -> Iterator[ServersRoot]:
    with open_root(tmp_path) as root:
        yield root


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    """The folder of a cell, in a result."""
    (tmp_path / "out/cells/0003").mkdir(parents=True)
    (tmp_path / "out/flatwater.json").touch()
    return tmp_path / "out/cells/0003"


def copies_of(cell: Path | None, *, many: int = 2) -> CellCopies:
    copies = CellCopies(Elsewhere())
    copies.turn_to(3, many)
    copies.keep_in(cell)
    return copies


def made(copies: CellCopies, root: ServersRoot) -> list[Path]:
    folders, how = copies.make(LOADED, BINARY, root, Notes(), lambda: False)
    assert how == "copy"
    return folders


def test_each_server_has_data_of_its_own(root: ServersRoot, cell: Path) -> None:
    folders = made(copies_of(cell), root)
    assert [(folder / "data/ibdata1").read_text() for folder in folders] == ["rows", "rows"]
    assert len(set(folders)) == 2 and all(folder.name.startswith(kept_token(cell)[0]) for folder in folders)


def test_a_cell_that_is_over_leaves_none(root: ServersRoot, cell: Path) -> None:
    copies = copies_of(cell)
    made(copies, root)
    copies.end_cell(root, resumable=False)
    assert root.runs() == [] and not (cell / SERVERS).exists()


def test_a_cell_that_goes_on_finds_them_again(root: ServersRoot, cell: Path) -> None:
    before = copies_of(cell)
    folders = made(before, root)
    before.end_cell(root, resumable=True)
    after = copies_of(cell)
    assert after.take_up(kept_token(cell)[0], BINARY, root) is None
    assert after.find(root, Notes()) == (folders, "copy")


def test_without_a_place_to_go_on_from_none_are_kept(root: ServersRoot) -> None:
    copies = copies_of(None)
    made(copies, root)
    copies.end_cell(root, resumable=True)
    assert root.runs() == []


def test_what_is_gone_or_of_another_server_is_not_taken_up(root: ServersRoot, cell: Path) -> None:
    before = copies_of(cell)
    folders = made(before, root)
    before.end_cell(root, resumable=True)
    token = kept_token(cell)[0]
    newer: Any = SimpleNamespace(flavour="mariadb", version_text="11.4.2")
    assert "this is mariadb 11.4.2" in str(copies_of(cell).take_up(token, newer, root))
    root.remove_run(folders[0].name)
    assert "1 of its 2 data directories are gone" in str(copies_of(cell).take_up(token, BINARY, root))


def test_others_are_deleted_only_if_no_run_needs_them(root: ServersRoot, cell: Path, tmp_path: Path) -> None:
    needed = copies_of(cell, many=1)
    (kept,) = made(needed, root)
    needed.end_cell(root, resumable=True)
    (rubbish,) = made(copies_of(None, many=1), root)
    other, notes = copies_of(None, many=1), Notes()
    for _ in range(2):
        other.make(LOADED, BINARY, root, notes, lambda: False)
    assert kept.exists() and not rubbish.exists()
    assert len(notes.told) == 1 and "a resumed run of" in notes.told[0], "and it is said once"
