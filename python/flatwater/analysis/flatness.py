"""How flat the line is: mean, spread, and the share of the usual throughput that is left in a bad second."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flatwater.analysis.autocorrelation import Values

#: The bad second: 95 of 100 seconds are better.
BAD_SECOND_PCT = 5.0


@dataclass(frozen=True)
class Flatness:
    """Mean, standard deviation and median in the unit of the series; `flatness` is a share, 1.0 is a perfectly flat
    line.
    """

    mean: float | None
    stddev: float | None
    median: float | None
    flatness: float | None


def flatness(values: Values) -> Flatness:
    """The flatness of the throughput of all intervals; a figure that the samples cannot give is None.

    A single interval has no flatness: any line through one point is flat.
    """
    if len(values) == 0:
        return Flatness(None, None, None, None)
    low, median = (float(value) for value in np.percentile(values, [BAD_SECOND_PCT, 50.0]))
    return Flatness(
        mean=float(values.mean()),
        stddev=float(values.std(ddof=1)) if len(values) > 1 else None,
        median=median,
        flatness=low / median if median > 0 and len(values) > 1 else None,
    )
