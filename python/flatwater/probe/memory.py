"""Memory of the machine, from /proc/meminfo, and what is swapped, from /proc/vmstat."""

from __future__ import annotations

import os
import time

from flatwater.probe.proc import read_text

_SERIES = {
    "MemAvailable": "machine.memory_available_bytes",
    "Cached": "machine.memory_cached_bytes",
    "Dirty": "machine.memory_dirty_bytes",
    "Writeback": "machine.memory_writeback_bytes",
}
#: Pages that were read from swap and written to it since the start of the machine.
_SWAPPED = {"pswpin": "machine.swap_read_bytes_per_s", "pswpout": "machine.swap_written_bytes_per_s"}


class MemoryProbe:
    """Gauges, not deltas."""

    def sample(self) -> dict[str, float]:
        """`machine.memory_*_bytes` now."""
        found = {}
        for line in read_text("/proc/meminfo").splitlines():
            name, _, rest = line.partition(":")
            if name in _SERIES:
                found[_SERIES[name]] = float(rest.split()[0]) * 1024
        return found


class SwapProbe:
    """Bytes that the kernel reads from swap and writes to it (proc(5), /proc/vmstat); zeros without swap."""

    def __init__(self) -> None:
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        self._last = self._read()

    def _read(self) -> tuple[float, dict[str, int]]:
        found = {}
        try:
            lines = read_text("/proc/vmstat").splitlines()
        except OSError:
            lines = []
        for line in lines:
            name, _, count = line.partition(" ")
            if name in _SWAPPED:
                found[_SWAPPED[name]] = int(count) * self._page_bytes
        return time.monotonic(), found

    def sample(self) -> dict[str, float]:
        """`machine.swap_*_bytes_per_s` since the last call."""
        (before_s, before), self._last = self._last, self._read()
        now_s, now = self._last
        if now_s <= before_s:
            return {}
        return {name: (value - before[name]) / (now_s - before_s) for name, value in now.items() if name in before}
