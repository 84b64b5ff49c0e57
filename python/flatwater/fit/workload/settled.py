"""Whether a run measured work that had settled: redo that still falls is that of the time after the load.

An index update of sysbench on a MySQL 8.0.15 logged 14,700 bytes right after the load, and 10,900 after 30,000 updates.
On a MySQL 5.6.24 it fell from 12,700 to 5,000 in 60,000 updates.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatwater.fit.workload.counters import CountedCell, Window

#: Redo a transaction that is this share less in the second half of a cell than in the first is told (our choice: the
#: halves of settled cells differ by less).
FALLS = 0.05
#: Redo of transactions that only read: what little there is, the server's own work logs.
NOTHING_BYTES = 1.0


def unsettled(cells: Sequence[CountedCell]) -> str | None:
    """A sentence on the cell whose redo a transaction fell most; None if none fell by more than `FALLS`."""
    halves = [(cell, *_halves(cell.windows)) for cell in cells if len(cell.windows) > 1]
    falling = [
        (before - after, cell, before, after)
        for cell, before, after in halves
        if before > NOTHING_BYTES and after < (1 - FALLS) * before
    ]
    if not falling:
        return None
    _, cell, before, after = max(falling, key=lambda one: one[0])
    where = ", ".join(f"{name.split('.')[-1]} {value}" for name, value in cell.set.items())
    return (
        f"redo still fell while it was measured, from {before:,.0f} to {after:,.0f} bytes a transaction"
        f"{f' ({where})' if where else ''}: it had not settled after the load, increase workload.warmup_s"
    )


def _halves(windows: Sequence[Window]) -> tuple[float, float]:
    """Redo a transaction in the first half of the windows and in the second."""
    middle = len(windows) // 2
    first, second = windows[:middle], windows[middle:]
    return _redo(first), _redo(second)


def _redo(windows: Sequence[Window]) -> float:
    return sum(w.redo_bytes for w in windows) / max(sum(w.transactions for w in windows), 1.0)
