"""Whether the intervals of a run agree with the totals that the tool printed at its end."""

from __future__ import annotations

from flatwater.results.importers.imported import ImportedCell
from flatwater.results.long_intervals import GAP_TIMES

#: Tools round what they print, and read their clocks one after another.
_SHARE = 0.02
#: Where more intervals than these are missing, what was done in them is not guessed.
_FEW = 3
#: Longer than so many intervals, a report was late.
_LATE = 1.5


def tell_difference(
    cell: ImportedCell, total: float | None, length_s: float | None, share: float = _SHARE, *, torn_edges: int = 2
) -> None:
    """Warns where the throughput of a cell's intervals is not that of the totals, with both figures.

    `total` is in the unit of the cell, over `length_s`. What lies in the intervals of torn edges, and in a few that are
    missing, may be anything from nothing to the highest rate.
    """
    rates = _rates(cell)
    if cell.intervals and length_s:
        _tell_edges(cell, length_s)
    own_s = sum(part_s for _, part_s in rates)
    if total is None or not length_s or own_s <= 0:
        return
    mean = sum(rate * part_s for rate, part_s in rates) / own_s
    missing_s = length_s - own_s
    few = abs(missing_s) <= _FEW * cell.interval_s
    # One high reading in the middle (what waited through a stall) excuses nothing at the edges.
    torn = torn_edges * cell.interval_s * max(total, rates[0][0], rates[-1][0]) / length_s
    if few:
        torn += abs(missing_s) / length_s * max(total, *(rate for rate, _ in rates))
    if abs(mean - total) <= share * max(mean, total) + torn:
        return
    told = f"its intervals have {mean:,.4g} {cell.unit} on average, and its totals say {total:,.4g}: "
    if few or missing_s < 0:
        told += "one of both is damaged, or is of another run"
        told += ", or late reports are of other times than they tell" if _has_late(cell) else ""
    else:
        told += f"{own_s:,.0f} s of {length_s:,.0f} s are in its intervals, or one of both is damaged"
    cell.warnings.append(told)


def tell_slower(cell: ImportedCell, total: float | None) -> None:
    """Tells of totals without a time that are lower than the intervals: what came behind these was slower, or stood."""
    rates = _rates(cell)
    own_s, done = sum(part_s for _, part_s in rates), sum(rate * part_s for rate, part_s in rates)
    if not total or done / total <= (1 + _SHARE) * own_s + GAP_TIMES * cell.interval_s:
        return
    longer_s = done / total - own_s
    told = f"its totals are as low as if it had stood still for {longer_s:,.0f} s behind its last reading"
    cell.hidden.append(told)


def _rates(cell: ImportedCell) -> list[tuple[float, float]]:
    """The throughput of each interval, and its seconds."""
    return [
        (one.metrics["workload.throughput"], one.end_s - one.start_s)
        for one in cell.intervals
        if "workload.throughput" in one.metrics
    ]


def _tell_edges(cell: ImportedCell, length_s: float) -> None:
    """A run that stalls to its end prints its totals, and no reading of that time: it is a gap as any."""
    first, last = cell.intervals[0], cell.intervals[-1]
    missing_s = length_s - (last.end_s - first.start_s)
    if missing_s > GAP_TIMES * cell.interval_s:
        apart = f"{missing_s:,.0f} s of it are before its first reading or behind its last"
        cell.hidden.append(f"the run took {length_s:,.0f} s, and {apart}")


def _has_late(cell: ImportedCell) -> bool:
    """Whether a report came so late that its time, in whole intervals, is not exactly that which it covers."""
    return any(one.end_s - one.start_s > _LATE * cell.interval_s for one in cell.intervals)
