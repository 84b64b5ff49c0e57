"""Which process writes a result: the one that holds the journal of a cell open."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

#: Processes are not looked through again before this time.
FRESH_S = 5.0


class Writers:
    """The processes of this machine that write a journal, as far as this user may see."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._looked_s = float("-inf")
        self._found: dict[str, int] = {}

    def of(self, result: Path) -> int | None:
        """The process that writes a cell of this result; None if none is seen.

        Processes of other users and of other machines cannot be seen.
        """
        with self._lock:
            if time.monotonic() - self._looked_s > FRESH_S:
                self._found = open_journals()
                self._looked_s = time.monotonic()
            inside = os.path.realpath(result) + "/cells/"
            return next((process for path, process in self._found.items() if path.startswith(inside)), None)

    @staticmethod
    def results_below(roots: Sequence[Path]) -> Iterator[Path]:
        """The results below some folders that a process writes just now, by their real paths."""
        below = tuple(os.path.realpath(root) + "/" for root in roots)
        for journal in open_journals():
            result, cells, _ = journal.rpartition("/cells/")
            if cells and f"{result}/".startswith(below):
                yield Path(result)


def open_journals() -> dict[str, int]:
    """Each journal that a process has open for writing, and the number of the process."""
    found: dict[str, int] = {}
    for process in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - a hundred names, every two seconds
        with suppress(OSError):
            for descriptor in os.listdir(f"/proc/{process}/fd"):  # noqa: PTH208
                with suppress(OSError):
                    path = os.readlink(f"/proc/{process}/fd/{descriptor}")  # noqa: PTH115
                    if path.endswith("/journal.jsonl") and _writes(process, descriptor):
                        found[path] = int(process)
    return found


def _writes(process: str, descriptor: str) -> bool:
    """Whether a descriptor is open for writing: this program, and others, read journals."""
    told = Path(f"/proc/{process}/fdinfo/{descriptor}").read_text()
    flags = next((line.split()[1] for line in told.splitlines() if line.startswith("flags:")), "0")
    return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY
