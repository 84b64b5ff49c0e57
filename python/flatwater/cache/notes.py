"""What happened to a cache while it runs, in words: for `flatwater cache status`, and in its log."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Sequence

#: The number of notes that are kept.
NOTES_MAX = 50
#: The number of notes that the next process is given.
HANDED_OVER = 10


class Notes:
    """The last notes of a cache, each with its time (seconds since the epoch). Several threads may add some."""

    def __init__(self, earlier: Iterable[Sequence[float | str]] = ()) -> None:
        self._lock = threading.Lock()
        self._notes = [(float(at_s), str(text)) for at_s, text in earlier]

    def add(self, text: str, at_s: float | None = None) -> None:
        """Keeps a note, and writes it to the log. `at_s`: when it happened, if not now."""
        with self._lock:
            self._notes = [*self._notes, (time.time() if at_s is None else at_s, text)][-NOTES_MAX:]
        log(text)

    def all(self) -> list[tuple[float, str]]:
        """The notes that are kept, the oldest first."""
        with self._lock:
            return list(self._notes)

    def handed_over(self) -> list[tuple[float, str]]:
        """The notes that the next process of the cache is given."""
        return self.all()[-HANDED_OVER:]


def log(text: str) -> None:
    """Writes a line to the log of the cache, which is the standard output of its processes."""
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} supervisor {os.getpid()}: {text}", flush=True)
