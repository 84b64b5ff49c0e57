"""Whether the intervals of a run agree with the totals that the tool printed at its end."""

from __future__ import annotations

from flatwater.results.importers.imported import ImportedCell

#: Tools round what they print, and read their clocks one after another.
_SHARE = 0.02


def tell_difference(cell: ImportedCell, total: float | None, length_s: float | None, share: float = _SHARE) -> None:
    """Warns where the throughput of a cell's intervals is not that of the totals, with both figures.

    `total` is in the unit of the cell, over `length_s`. What lies between the two lengths, and in an interval at each
    edge, may be anything from nothing to the highest rate.
    """
    rates = [
        (one.metrics["workload.throughput"], one.end_s - one.start_s)
        for one in cell.intervals
        if "workload.throughput" in one.metrics
    ]
    own_s = sum(part_s for _, part_s in rates)
    if total is None or not length_s or own_s <= 0:
        return
    mean = sum(rate * part_s for rate, part_s in rates) / own_s
    torn_s = abs(length_s - own_s) + 2 * cell.interval_s
    torn = torn_s / length_s * max(total, *(rate for rate, _ in rates))
    if abs(mean - total) > share * max(mean, total) + torn:
        cell.warnings.append(
            f"its intervals have {mean:,.4g} {cell.unit} on average, and its totals say {total:,.4g}: one of both is "
            "damaged, or is of another run"
        )
