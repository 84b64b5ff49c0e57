"""The size of the redo log, in the words of the server that has it."""

from __future__ import annotations

from dataclasses import dataclass

from flatwater.advise.dialect import Dialect


@dataclass(frozen=True)
class RedoLog:
    """The setting that says how large the log is: a capacity, or the size of each file."""

    name: str
    #: Of the setting, bytes.
    size: int
    files: int

    @property
    def bytes(self) -> int:
        """Of the whole log."""
        return self.size * self.files


def redo_log(server: Dialect) -> RedoLog | None:
    """The redo log of a server; None if its size is unknown."""
    name = "innodb_redo_log_capacity"
    capacity = server.number(name) if server.has(name) else None
    if capacity:
        return RedoLog(name, int(capacity), 1)
    name = "innodb_log_file_size"
    size, files = server.number(name), server.number("innodb_log_files_in_group")
    return RedoLog(name, int(size), int(files or 1)) if size else None
