"""Which storage of a cell's servers is full, when a server says that a disk is."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flatwater.experiment import Experiment
from flatwater.server import Root
from flatwater.server.copying import free_bytes
from flatwater.server.sizes import print_size

#: A full disk in the words of error logs and of the kernel, which name no other cause.
FULL = re.compile(r"Disk is full|No space left|errno: 28|Errcode: 28|Error number 28|error 28\b", re.IGNORECASE)
#: The same in the numbers of statements that fail: ER_DISK_FULL, ER_ERROR_ON_WRITE, ER_RECORD_FILE_FULL,
#: ER_TEMP_FILE_WRITE_FAILURE. A table in memory may be full, too, so that such a storage must have little room.
_FAILED = re.compile(r"\(error (1021|1026|1114|1878)\)")
#: The most by which InnoDB extends a file at once (innodb_autoextend_increment, 64 MiB by default): with less room, it
#: says that there is none.
STEP_BYTES = 64 << 20


@dataclass(frozen=True)
class _Storage:
    """A storage of a cell's servers: how it is called, and flatwater's folder on it."""

    called: str
    field: str
    folder: Path

    def free(self) -> int | None:
        try:
            return free_bytes(self.folder)
        except OSError:
            return None


class FullStorages:
    """The storages of a cell's servers."""

    def __init__(self, cell: Experiment, data: Path, roots: Mapping[str, Root]) -> None:
        """`data` is flatwater's folder on the storage of the data; `roots` are those on the others, by their names."""
        others = cell.server.others
        self._storages = [
            _Storage(f"the storage {name} ({others[name].text})", f"database.storages.{name}.path", root.path)
            for name, root in roots.items()
            if name in others
        ]
        self._data = _Storage("the storage of the data", "storage.path", data)

    def told(self, text: str) -> tuple[str, str] | None:
        """Which is full, and what to do; None if the text of a failure does not say so, or if none of them is."""
        surely = FULL.search(text) is not None
        if not says_full(text):
            return None
        # A failure names the folder of the data for other reasons, too: there are the snapshot and the logs.
        named = [one for one in self._storages if self._is_named(one, text)] if surely else []
        places = [*self._storages, self._data]
        full = named or [one for one in places if (free := one.free()) is not None and free < STEP_BYTES]
        if not full:
            return None
        told = [f"{one.called} is full: {_free(one)} in {one.folder.parent}" for one in full]
        fields = " or ".join(one.field for one in full)
        return "; ".join(told), f"make room there, or let {fields} be a larger one"

    def _is_named(self, storage: _Storage, text: str) -> bool:
        """Whether a path in a text is below a storage. InnoDB tells some paths from its data directory on."""
        relative = os.path.relpath(storage.folder, self._data.folder)
        return str(storage.folder) in text or f"../{relative.replace('../', '')}/" in text

    def explained(self, text: str) -> str:
        """The text of a failure, with the storage that is full, if one is."""
        told = self.told(text)
        if told is None or told[0].partition(": ")[0] in text:
            return text
        what, remedy = told
        return _with(text, f"; {what}", remedy)


def says_full(text: str) -> bool:
    """Whether the text of a failure says that a disk is full."""
    return FULL.search(text) is not None or _FAILED.search(text) is not None


def explain_elsewhere(text: str, data: Path | None) -> str:
    """The text of a failure of a server that others run, with what to do if its disk is full. `data` is its data
    directory, if that is on this machine.
    """
    place = str(data) if data is not None else "the data directory, on the server's machine"
    return _with(text, "", f"the disk of the server is full: make room for {place}") if says_full(text) else text


def _with(text: str, told: str, remedy: str) -> str:
    """A text and its hint, with more of both."""
    what, said, hint = text.partition(" (hint: ")
    return f"{what}{told} (hint: {remedy}{f'; {hint}' if said else ')'}"


def _free(storage: _Storage) -> str:
    free = storage.free()
    return f"{print_size(free)} are free" if free is not None else "it does not tell its room"
