"""Pressure stall information (PSI): the share of time in which tasks waited for a resource."""

from __future__ import annotations

import time

from flatwater.probe.proc import read_text

_FOLDER = "/proc/pressure"
#: Kernels without PSI, and containers that hide it, have no such files.
_FILES = (("cpu", "some"), ("io", "some"), ("io", "full"), ("memory", "some"), ("memory", "full"))


class PressureProbe:
    """`machine.pressure_*_pct` from the totals, which are exact over any interval (the averages lag by 10 s)."""

    def __init__(self) -> None:
        self._last = self._read()

    def _read(self) -> tuple[dict[tuple[str, str], int], float]:
        totals = {}
        for resource in ("cpu", "io", "memory"):
            try:
                lines = read_text(f"{_FOLDER}/{resource}").splitlines()
            except OSError:
                continue
            for line in lines:
                kind, *pairs = line.split()
                totals[resource, kind] = int(dict(pair.split("=") for pair in pairs)["total"])
        return totals, time.monotonic()

    def sample(self) -> dict[str, float]:
        """Shares of the time since the last call."""
        (before, then), (now, at) = self._last, self._read()
        self._last = now, at
        elapsed_us = max(1.0, (at - then) * 1e6)
        return {
            f"machine.pressure_{resource}_{kind}_pct": min(
                100.0, 100 * (now[resource, kind] - before[resource, kind]) / elapsed_us
            )
            for resource, kind in _FILES
            if (resource, kind) in now and (resource, kind) in before
        }
