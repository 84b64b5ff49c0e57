"""Whether a run measured work that had settled: redo that still falls is that of the time after the load.

An index update of sysbench on a MySQL 8.0.15 logged 14,700 bytes right after the load, and 10,900 after 30,000 updates.
On a MySQL 5.6.24 it fell from 12,700 to 5,000 in 60,000 updates.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import pairwise

from flatwater.fit.workload.counters import CountedCell, Window

#: Redo a transaction that is this share less in the second half of a cell than in the first is told (our choice: it is
#: less than what else a model of it is wrong by).
FALLS = 0.05
#: And by this many standard errors: among ten settled cells one falls so far by chance in one run of seventy.
SURE_ERRORS = 3.0
#: Redo of transactions that only read: what little there is, the server's own work logs.
NOTHING_BYTES = 1.0
#: The median of a normal variable's distances from its mean, in standard deviations.
MEDIAN_DISTANCE = statistics.NormalDist().inv_cdf(0.75)


def unsettled(cells: Sequence[CountedCell]) -> str | None:
    """A sentence on the cell whose redo a transaction fell most; None if none fell beyond `FALLS` and chance."""
    logging = [cell for cell in cells if len(cell.windows) > 1 and _redo(cell.windows) > NOTHING_BYTES]
    noise = _noise(logging)
    falling = []
    for cell in logging:
        middle = len(cell.windows) // 2
        first, second = cell.windows[:middle], cell.windows[middle:]
        before, after = _redo(first), _redo(second)
        error = noise * math.sqrt(1 / len(first) + 1 / len(second))
        if before - after > max(FALLS, SURE_ERRORS * error) * before:
            falling.append((before - after, cell, before, after))
    if not falling:
        return None
    _, cell, before, after = max(falling, key=lambda one: one[0])
    where = ", ".join(f"{name.split('.')[-1]} {value}" for name, value in cell.set.items())
    return (
        f"redo still fell while it was measured, from {before:,.0f} to {after:,.0f} bytes a transaction"
        f"{f' ({where})' if where else ''}: it had not settled after the load, increase workload.warmup_s"
    )


def _noise(cells: Sequence[CountedCell]) -> float:
    """Standard deviation of a window's redo a transaction, as a share of it.

    It is that of the steps from a window to the next, which a slow fall hardly changes; by their median, which one cell
    that falls fast does not change.
    """
    steps = [
        abs(_redo([one]) - _redo([after])) / _redo(cell.windows)
        for cell in cells
        for one, after in pairwise(cell.windows)
    ]
    return statistics.median(steps) / MEDIAN_DISTANCE / math.sqrt(2) if steps else 0.0


def _redo(windows: Sequence[Window]) -> float:
    """Bytes of redo a transaction."""
    return sum(w.redo_bytes for w in windows) / max(sum(w.transactions for w in windows), 1.0)
