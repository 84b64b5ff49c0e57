"""One recorded quantity over the measured phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Values = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Line:
    """One value for each measured interval, NaN where the interval has none.

    All lines of one `Evidence` have the same length: interval `i` ends at `Evidence.time_s[i]`. A line has at least one
    finite value; a quantity that was never recorded is None, and not a line.
    """

    value: Values

    @property
    def mean(self) -> float:
        """Mean of the recorded intervals."""
        return float(np.nanmean(self.value))

    @property
    def median(self) -> float:
        """Median of the recorded intervals."""
        return float(np.nanmedian(self.value))

    @property
    def max(self) -> float:
        """Highest recorded interval."""
        return float(np.nanmax(self.value))

    @property
    def min(self) -> float:
        """Lowest recorded interval."""
        return float(np.nanmin(self.value))

    @property
    def halves(self) -> tuple[Line, Line] | None:
        """The first and the second half of the recorded intervals; None for less than two."""
        known = self.value[np.isfinite(self.value)]
        if len(known) < 2:
            return None
        first, second = np.array_split(known, 2)
        return Line(first), Line(second)

    def percentile(self, pct: float) -> float:
        """A percentile of the recorded intervals."""
        return float(np.nanpercentile(self.value, pct))

    def share(self, marked: np.ndarray[Any, np.dtype[np.bool_]]) -> float:
        """The share of the recorded intervals that are marked, 0 to 1."""
        known = np.isfinite(self.value)
        return float(np.count_nonzero(marked & known) / np.count_nonzero(known))

    def share_at_least(self, limit: float) -> float:
        """The share of the recorded intervals in which the quantity was at the limit or above, 0 to 1."""
        return self.share(self.value >= limit)
