"""Where client and server meet: the processors that each may use, and busy programs beside them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from benchmarks.database.work import Place

#: Computes until it is killed, as a program does that knows nothing of its neighbours.
BUSY = "while True: pass"


def missing(place: Place) -> str | None:
    """Why a place cannot be had here; None when it can."""
    if place.cores == "apart" and len(os.sched_getaffinity(0)) < 2:
        return "client and server on separate cores need two cores"
    return None


@contextmanager
def at(place: Place, server_pid: int) -> Iterator[list[str]]:
    """Makes the place until the end of the `with`; what a client's command line begins with there."""
    with ExitStack() as undo:
        prefix: list[str] = []
        cores = sorted(os.sched_getaffinity(0))
        if place.cores == "apart":
            half = len(cores) // 2
            _pin(server_pid, cores[half:])
            undo.callback(_pin, server_pid, cores)
            prefix = ["taskset", "-c", ",".join(map(str, cores[:half]))]
        if place.busy:
            for _ in cores:
                # In a session of its own, as programs of others are: the kernel may share cores by sessions first.
                busy = subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True)
                undo.callback(busy.wait)
                undo.callback(busy.kill)
        yield prefix


def _pin(pid: int, cores: list[int]) -> None:
    """Gives all threads of a process these cores; threads that it starts later have those of the thread before."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        # A thread that has just ended needs none.
        with suppress(ProcessLookupError):
            os.sched_setaffinity(int(task.name), cores)
