"""The time in which threads of a process were ready to run but had no processor (/proc/PID/task/TID/schedstat).

The second figure of that file is the time that a thread spent on a run queue, in nanoseconds
(Documentation/scheduler/sched-stats.rst of Linux). It separates a lack of processors from every other wait.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from flatwater.probe.proc import read_text, threads_of

_WAITED = 1


class RunQueue:
    """The time on run queues since the last call, of the threads of some processes."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._last = _read(pids), time.monotonic()

    def sample(self, pids: Iterable[int]) -> float | None:
        """Percent: 100 = one thread that waited all the time. None if the kernel does not report it.

        A thread that started since the last call counts from its start. The time of a thread that has ended is lost.
        """
        (before, then), now, at = self._last, _read(pids), time.monotonic()
        self._last = now, at
        if not now or at <= then:
            return None
        waited_ns = sum(max(0, total - before.get(thread, 0)) for thread, total in now.items())
        return waited_ns / (at - then) / 1e7 if before else None


def _read(pids: Iterable[int]) -> dict[tuple[int, int], int]:
    found = {}
    for pid in pids:
        try:
            threads = threads_of(pid)
        except OSError:
            continue
        for thread in threads:
            try:
                fields = read_text(f"/proc/{pid}/task/{thread}/schedstat").split()
                found[pid, int(thread)] = int(fields[_WAITED])
            except (OSError, ValueError, IndexError):
                continue
    return found
