"""Memory of the machine, from /proc/meminfo."""

from __future__ import annotations

from pathlib import Path

_SERIES = {
    "MemAvailable": "machine.memory_available_bytes",
    "Cached": "machine.memory_cached_bytes",
    "Dirty": "machine.memory_dirty_bytes",
    "Writeback": "machine.memory_writeback_bytes",
}


class MemoryProbe:
    """Gauges, not deltas."""

    def sample(self) -> dict[str, float]:
        """`machine.memory_*_bytes` now."""
        found = {}
        for line in Path("/proc/meminfo").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name in _SERIES:
                found[_SERIES[name]] = float(rest.split()[0]) * 1024
        return found
