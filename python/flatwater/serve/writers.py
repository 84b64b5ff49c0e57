"""Which process writes a result: the one that holds its lock, or the journal of a cell, open."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from flatwater.results.collection import INDEX
from flatwater.results.lock import LOCK

#: Processes are not looked through again before this time.
FRESH_S = 5.0
_JOURNAL = "journal.jsonl"


class Writers:
    """The processes of this machine that write a result, as far as this user may see."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._looked_s = float("-inf")
        self._found: dict[str, int] = {}

    def of(self, result: Path) -> int | None:
        """The process that runs this result; None if none is seen.

        Processes of other users and of other machines cannot be seen.
        """
        with self._lock:
            if time.monotonic() - self._looked_s > FRESH_S:
                self._found = open_files()
                self._looked_s = time.monotonic()
            folder = os.path.realpath(result)
            locks = [f"{folder}/{LOCK}"]
            # One process runs all experiments of `run --all`, those that wait, too.
            above = os.path.dirname(folder)  # noqa: PTH120 - a text, as what is compared with it
            locks += [f"{above}/{LOCK}"] if os.path.lexists(f"{above}/{INDEX}") else []
            for path, process in self._found.items():
                if path in locks or path.startswith(f"{folder}/cells/"):
                    return process
            return None

    @staticmethod
    def results_below(roots: Sequence[Path]) -> Iterator[Path]:
        """The results below some folders that a process writes just now, by their real paths."""
        below = tuple(os.path.realpath(root) + "/" for root in roots)
        for result in dict.fromkeys(map(_result_of, open_files())):
            if f"{result}/".startswith(below):
                yield Path(result)

    @staticmethod
    def results_of_user() -> Iterator[Path]:
        """The folders that processes of this user write just now, wherever they are on this machine.

        A folder may be none of a result: whoever asks reads it as one.
        """
        for result in dict.fromkeys(map(_result_of, open_files(of_user=True))):
            yield Path(result)


def open_files(*, of_user: bool = False) -> dict[str, int]:
    """Each journal, and each lock of a result, that a process has open for writing, and the number of the process.

    `of_user`: only of processes of this user, which see the file systems as this process does (and not a container's).
    """
    found: dict[str, int] = {}
    for process in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - a hundred names, every two seconds
        with suppress(OSError):
            if of_user and os.stat(f"/proc/{process}").st_uid != os.geteuid():  # noqa: PTH116
                continue
            for descriptor in os.listdir(f"/proc/{process}/fd"):  # noqa: PTH208
                with suppress(OSError):
                    path = os.readlink(f"/proc/{process}/fd/{descriptor}")  # noqa: PTH115
                    if not path.endswith((f"/{_JOURNAL}", f"/{LOCK}")) or not _writes(process, descriptor):
                        continue
                    if not of_user or os.path.samefile(path, f"/proc/{process}/fd/{descriptor}"):  # noqa: PTH121
                        found[path] = int(process)
    return found


def _result_of(path: str) -> str:
    """The folder of a result, by a file of it that is written."""
    folder, name = os.path.split(path)
    return folder.rpartition("/cells/")[0] or folder if name == _JOURNAL else folder


def _writes(process: str, descriptor: str) -> bool:
    """Whether a descriptor is open for writing: this program, and others, read journals."""
    told = Path(f"/proc/{process}/fdinfo/{descriptor}").read_text()
    flags = next((line.split()[1] for line in told.splitlines() if line.startswith("flags:")), "0")
    return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY
