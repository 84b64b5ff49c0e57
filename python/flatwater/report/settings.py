"""The settings of a sweep: the cells of one setting together, its mean with an interval, and ratios of two settings.

A ratio has the 95 % confidence interval that follows from the intervals of the two means (delta method: relative errors
add in squares). If a setting was repeated, the spread of its repeats is used if it is wider: a single run does not show
what changes from one run to the next.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from flatwater.report.swept import label, shown
from flatwater.results import Cell, CellSummary, MetricSummary, Result, Verdict

#: Decimals of a ratio.
DECIMALS_MAX = 5
#: Student's t for a 95 % interval, by degrees of freedom (from any table of it); beyond those, that of the normal
#: distribution.
STUDENT = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
NORMAL = 1.96


@dataclass(frozen=True)
class Setting:
    """The finished cells of one setting: one cell, or its repeats."""

    name: str
    #: Indexes of the cells.
    cells: list[int]
    summaries: list[CellSummary]

    @property
    def mean(self) -> float:
        """The mean of the cells' means, in their unit."""
        return sum(one.mean or 0.0 for one in self.summaries) / len(self.summaries)

    @property
    def half(self) -> float | None:
        """Half-width of the mean's 95 % confidence interval; None if no run has one."""
        inside = [one.mean_ci95 for one in self.summaries]
        known = [one for one in inside if one is not None]
        found = [math.hypot(*known) / len(known)] if len(known) == len(inside) else []
        count = len(self.summaries)
        if count > 1:
            spread = math.sqrt(sum(((one.mean or 0.0) - self.mean) ** 2 for one in self.summaries) / (count - 1))
            t = STUDENT[count - 2] if count - 2 < len(STUDENT) else NORMAL
            found.append(t * spread / math.sqrt(count))
        return max(found, default=None)

    @property
    def flatness(self) -> float | None:
        """The mean of the cells' flatness; None if no cell has one."""
        found = [one.flatness for one in self.summaries if one.flatness is not None]
        return sum(found) / len(found) if found else None

    @property
    def verdicts(self) -> list[Verdict]:
        """The different verdicts of the cells, in their order."""
        return list(dict.fromkeys(one.verdict for one in self.summaries if one.verdict is not None))

    def metric(self, name: str) -> tuple[float, float] | None:
        """(mean, highest) of a recorded series over the measured phases of the cells."""
        found = [one.metrics[name] for one in self.summaries if name in one.metrics]
        pairs = [(one.mean, one.max) for one in found if _known(one)]
        if not pairs:
            return None
        means, tops = zip(*pairs, strict=True)
        return sum(means) / len(means), max(tops)


def settings_of(result: Result, field: str = "") -> list[Setting]:
    """The settings with a mean, in the order of their first cells.

    `field` is the swept field whose values name the settings; without it the names contain the fields.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in result.cells:
        if cell.summary is not None and cell.summary.mean is not None and math.isfinite(cell.summary.mean):
            groups.setdefault(json.dumps(cell.set, sort_keys=True, default=str), []).append(cell)
    return [
        Setting(
            _name(cells[0], field), [cell.index for cell in cells], [cell.summary for cell in cells if cell.summary]
        )
        for cells in groups.values()
    ]


def _name(cell: Cell, field: str) -> str:
    if field and field in cell.set:
        return shown(field, cell.set[field])
    return label(cell).removesuffix(f" (repeat {cell.plan.repeat + 1})")


def _known(one: MetricSummary) -> bool:
    return one.mean is not None and one.max is not None and math.isfinite(one.mean) and math.isfinite(one.max)


@dataclass(frozen=True)
class Ratio:
    """A ratio of two mean throughputs and its 95 % interval; the ends are NaN if a mean has no interval."""

    value: float
    low: float
    high: float

    @property
    def has_interval(self) -> bool:
        """Whether both means had an interval."""
        return not math.isnan(self.low)

    @property
    def shows_no_difference(self) -> bool:
        """Whether the interval holds 1."""
        return self.has_interval and self.low <= 1 <= self.high

    @property
    def text(self) -> str:
        """The ratio, with the decimals that its interval needs."""
        return f"{self.value:.{self._decimals()}f}" if self.has_interval else f"{self.value:.2f}"

    @property
    def interval(self) -> str:
        """`1.10 to 1.14`; empty if it is not known."""
        digits = self._decimals() if self.has_interval else 0
        return f"{self.low:.{digits}f} to {self.high:.{digits}f}" if self.has_interval else ""

    def _decimals(self) -> int:
        """Enough decimals to distinguish the ends of an interval, and an end from 1; at least two."""
        digits = min(max(2, -math.floor(math.log10(max(self.high - self.low, 1e-4)))), 4)
        while digits < DECIMALS_MAX and any(end != 1 and round(end, digits) == 1 for end in (self.low, self.high)):
            digits += 1
        return digits


def ratio(ours: Setting, theirs: Setting) -> Ratio | None:
    """The ratio of the mean throughputs; None if the mean of `theirs` is not positive."""
    if theirs.mean <= 0:
        return None
    value = ours.mean / theirs.mean
    if ours.half is None or theirs.half is None or ours.mean <= 0:
        return Ratio(value, math.nan, math.nan)
    half = value * math.hypot(ours.half / ours.mean, theirs.half / theirs.mean)
    return Ratio(value, max(value - half, 0.0), value + half)
