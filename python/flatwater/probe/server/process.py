"""Processor time and memory of the servers' processes, from /proc."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from flatwater.probe.proc import read_text
from flatwater.probe.run_queue import RunQueue

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
#: Fields of /proc/PID/stat after the name, proc(5): utime, stime, starttime.
_USER, _SYSTEM, _STARTED, _RSS = 11, 12, 19, 21


@dataclass(frozen=True)
class _Used:
    started: int
    user: int
    system: int
    rss_bytes: int


class Processes:
    """CPU time and memory of a set of processes since the last call; only while all of them live."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._last = self._read(pids), time.monotonic()
        self._queue = RunQueue(pids)

    def sample(self, pids: Sequence[int]) -> dict[str, float]:
        """server_cpu_*_pct (100 = one core; `wait`: one thread that could run and had none) and server_rss_bytes;
        without rates for a process that is new.
        """
        (before, then), now, at = self._last, self._read(pids), time.monotonic()
        self._last = now, at
        waited_pct = self._queue.sample(pids)
        if not now:
            return {}
        found = {"server_rss_bytes": float(sum(one.rss_bytes for one in now.values()))}
        same = all(pid in before and before[pid].started == one.started for pid, one in now.items())
        if same and at > then:
            per_tick = 100 / _TICKS_PER_S / (at - then)
            found["server_cpu_user_pct"] = per_tick * sum(one.user - before[pid].user for pid, one in now.items())
            found["server_cpu_system_pct"] = per_tick * sum(one.system - before[pid].system for pid, one in now.items())
            if waited_pct is not None:
                found["server_cpu_wait_pct"] = waited_pct
        return found

    def _read(self, pids: Sequence[int]) -> dict[int, _Used]:
        found = {}
        for pid in pids:
            try:
                text = read_text(f"/proc/{pid}/stat")
            except OSError:
                return {}
            # The name may hold spaces and brackets.
            fields = text.rpartition(")")[2].split()
            found[pid] = _Used(
                int(fields[_STARTED]), int(fields[_USER]), int(fields[_SYSTEM]), int(fields[_RSS]) * _PAGE_BYTES
            )
        return found
