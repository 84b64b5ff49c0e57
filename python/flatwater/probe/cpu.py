"""Processor time of the machine, from /proc/stat, and the part of it that other processes used."""

from __future__ import annotations

import os
import time

from flatwater.probe.descendants import Descendants
from flatwater.probe.proc import read_text
from flatwater.probe.run_queue import RunQueue

#: Fields of the `cpu` line, proc(5); guest time is already inside user time.
_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class CpuProbe:
    """Shares of all processors (100 = the whole machine), and the CPU of other processes (100 = one core)."""

    def __init__(self) -> None:
        self._last = self._read()
        self._own_queue = RunQueue([os.getpid()])
        self._descendants = Descendants()

    def _read(self) -> tuple[dict[str, int], float, float]:
        first = read_text("/proc/stat").split("\n", 1)[0].split()[1:]
        ticks = dict(zip(_FIELDS, map(int, first), strict=False))
        own = os.times()
        return ticks, own.user + own.system, time.monotonic()

    def sample(self) -> dict[str, float]:
        """cpu_*_pct since the last call, and how long threads of the load generator waited for a processor."""
        (before, own_before, then), (now, own_now, at) = self._last, self._read()
        delta = {name: max(0, now[name] - before.get(name, 0)) for name in now}
        total = sum(delta.values())
        if total == 0 or at <= then:
            return {}
        self._last = now, own_now, at
        pct = {name: 100 * ticks / total for name, ticks in delta.items()}
        system = pct["system"] + pct.get("irq", 0) + pct.get("softirq", 0)
        busy_s = (total - delta["idle"] - delta.get("iowait", 0) - delta.get("steal", 0)) / _TICKS_PER_S
        told = {
            "workload.client_cpu_wait_pct": self._own_queue.sample([os.getpid()]),
            "machine.children_cpu_pct": self._descendants.sample(),
        }
        return {name: value for name, value in told.items() if value is not None} | {
            "machine.cpu_user_pct": pct["user"] + pct["nice"],
            "machine.cpu_system_pct": system,
            "machine.cpu_iowait_pct": pct.get("iowait", 0),
            "machine.cpu_steal_pct": pct.get("steal", 0),
            "machine.cpu_idle_pct": pct["idle"],
            "machine.others_cpu_pct": max(0.0, 100 * (busy_s - (own_now - own_before)) / (at - then)),
        }
