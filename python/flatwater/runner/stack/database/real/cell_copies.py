"""The copies of a snapshot for the servers of one cell: made, copies again, deleted at the end of the cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from flatwater.runner.progress import Reporter
from flatwater.runner.stack.database.real.copies import (
    SERVERS,
    Copy,
    find_copies,
    keep_token,
    name_of,
    new_token,
    sort_out,
    why_not,
    write_copy,
)
from flatwater.runner.stack.database.real.elsewhere import Elsewhere
from flatwater.server import Binary, Root, ServersRoot, Snapshot, copy_placed


class CellCopies:
    """One data directory for each server, below the servers' root, and its parts on other storages."""

    def __init__(self, elsewhere: Elsewhere) -> None:
        self._elsewhere = elsewhere
        #: The token of the cell's copies; empty if it has none.
        self._token = ""
        self._index = 0
        self._many = 1
        #: The folder of the cell if a later run can resume it; else None.
        self._kept_in: Path | None = None
        #: Notes about other copies that the user has seen.
        self._noted: set[str] = set()

    def turn_to(self, index: int, many: int) -> None:
        """Switches to the cell with this index, which has `many` servers."""
        self._index, self._many = index, many

    def take_up(self, token: str, binary: Binary, root: ServersRoot) -> str | None:
        """Finds the copies of an earlier run; returns why servers cannot continue on them, None if they can."""
        for place in self._roots(root):
            copies = find_copies(place, token, self._index, self._many)
            reason = why_not(copies, binary, place.path)
            if reason is not None:
                return reason
        self._token = token
        return None

    def _roots(self, root: ServersRoot) -> list[Root]:
        """The folders of flatwater on all storages."""
        return [root, *self._elsewhere.roots.values()]

    def keep_in(self, folder: Path | None) -> None:
        """Sets the folder of the cell. Called before any copy is made."""
        self._kept_in = folder

    def make(
        self, snapshot: Snapshot, binary: Binary, root: ServersRoot, reporter: Reporter, stop: Callable[[], bool]
    ) -> tuple[list[Path], Literal["reflink", "copy"] | None]:
        """Copies the snapshot once for each server; returns the servers' folders, and how the data were copied.

        Errors: FlatwaterError, Interrupted.
        """
        self._token = new_token()
        self._clear_others(root, reporter)
        if self._kept_in is not None:
            keep_token(self._kept_in, self._token)
        reporter.phase("copy the data", None)
        folders: list[Path] = []
        how: Literal["reflink", "copy"] | None = None
        for number in range(self._many):
            name, schema = self._name(number), self._elsewhere.schema
            folder = root.run_folder(name)
            with self._elsewhere.named():
                parts, data = self._elsewhere.make(name), folder / "data"
                copied = copy_placed(snapshot, data, parts, schema, reporter.written, stop)
                parts.link_tables(binary, data, schema)
            if self._kept_in is not None:
                kind, version, cell = binary.flavour, binary.version_text, str(self._kept_in.absolute())
                copy = Copy(self._token, number, self._many, kind, version, copied.how, cell)
                # The record of the data comes last: without it, the parts are rubbish, too.
                for place in reversed(self._roots(root)):
                    write_copy(place.run_path(name), copy)
            folders.append(folder)
            how = copied.how
        return folders, how

    def find(self, root: ServersRoot, reporter: Reporter) -> tuple[list[Path], Literal["reflink", "copy"] | None]:
        """The folders that an earlier run left, after `take_up`, and how their data were copied.

        Errors: FlatwaterError.
        """
        self._clear_others(root, reporter)
        folders: list[Path] = []
        how: Literal["reflink", "copy"] | None = None
        for number, copy in enumerate(find_copies(root, self._token, self._index, self._many)):
            name = self._name(number)
            if copy is not None:
                how = "reflink" if copy.data == "reflink" else "copy"
                if self._kept_in is not None:
                    # The result folder may have been moved.
                    for place in self._roots(root):
                        write_copy(place.run_path(name), replace(copy, cell=str(self._kept_in.absolute())))
            folders.append(root.run_path(name))
        return folders, how

    def _clear_others(self, root: ServersRoot, reporter: Reporter) -> None:
        """Deletes copies that no run needs, and reports those that another run needs, once."""
        for place in self._roots(root):
            rubbish, notes = sort_out(place, self._token)
            for name in rubbish:
                place.remove_run(name)
            for text in notes:
                if text not in self._noted:
                    self._noted.add(text)
                    reporter.note(text)

    def end_cell(self, root: ServersRoot | None, *, resumable: bool) -> None:
        """Deletes the copies, unless a later run can resume the cell."""
        if resumable and self._kept_in is not None:
            return
        if root is not None and self._token:
            for number in range(self._many):
                root.remove_run(self._name(number))
                self._elsewhere.remove(self._name(number))
        if self._kept_in is not None:
            (self._kept_in / SERVERS).unlink(missing_ok=True)
        self._token = ""

    def _name(self, number: int) -> str:
        return name_of(self._token, self._index, number)
