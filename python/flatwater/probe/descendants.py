"""Processor time of the programs that this process started: servers, served devices, caches.

Without it, a server or a served device would count as load of other programs.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from flatwater.probe.proc import read_text, threads_of

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
#: Fields of /proc/PID/stat after the name, proc(5): utime and stime.
_USER, _SYSTEM = 11, 12


class Descendants:
    """CPU time of all programs below this one since the last call."""

    def __init__(self) -> None:
        self._last = _read(os.getpid()), time.monotonic()

    def sample(self) -> float | None:
        """Percent of one core; None if the kernel does not list the children of a process.

        A program that started since the last call counts from its start.
        """
        (before, then), now, at = self._last, _read(os.getpid()), time.monotonic()
        self._last = now, at
        if now is None or before is None or at <= then:
            return None
        ticks = sum(max(0, used - before.get(pid, 0)) for pid, used in now.items())
        return 100 * ticks / _TICKS_PER_S / (at - then)


def _read(pid: int) -> dict[int, int] | None:
    """Ticks that each program below this one has used; None if the kernel was built without that list."""
    if not (Path("/proc/self/task") / str(os.getpid()) / "children").exists():
        return None
    found: dict[int, int] = {}
    pending = _children(pid)
    while pending:
        child = pending.pop()
        try:
            # The name may contain spaces and brackets.
            fields = read_text(f"/proc/{child}/stat").rpartition(")")[2].split()
            found[child] = int(fields[_USER]) + int(fields[_SYSTEM])
        except (OSError, ValueError, IndexError):
            continue
        pending += _children(child)
    return found


def _children(pid: int) -> list[int]:
    """Children of all threads of a process: each thread lists those that it started."""
    found: list[int] = []
    try:
        for thread in threads_of(pid):
            found += map(int, read_text(f"/proc/{pid}/task/{thread}/children").split())
    except (OSError, ValueError):
        return found
    return found
