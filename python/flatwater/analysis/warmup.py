"""The end of the transient at the start of a measured phase.

MSER-5 (K. P. White Jr., "An effective truncation heuristic for bias reduction in simulation output", Simulation 69,
1997; the batches of five from White, Cobb & Spratt, 2000) leaves out the first d batches for which the standard error
of the remaining batches is smallest. The heuristic always names a point, so two rules of ours decide whether the point
means anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flatwater.analysis.autocorrelation import Values, estimate_mean

#: Samples in a batch (the 5 of MSER-5).
BATCH = 5
#: White's limit: a minimum in the second half means that the run was too short.
LIMIT = 0.5
#: In fewer batches than this, a transient cannot be distinguished from noise.
BATCHES_MIN = 4
#: A difference of means under 2 % changes no conclusion, and a difference under 3 standard errors (of either part) is
#: noise: MSER's minimum wanders over the first batches of any stationary series.
DIFFERENCE_MIN = 0.02
ERRORS_MIN = 3.0
#: A line that has had this share of its usual level for a batch has begun.
LEVEL_MIN = 0.8
#: And is dead where it does less than this share of it.
DEAD_MAX = 0.01


def transient_samples(values: Values) -> int | None:
    """How many samples at the start belong to a transient; 0 if there is none, None if it never ended.

    Dead samples of a line that had its usual level before are no part of a start: they are left out.
    """
    kept = np.flatnonzero(~_died(values))
    cut = _transient_samples(values[kept])
    return int(kept[cut - 1]) + 1 if cut else cut


def _died(values: Values) -> np.ndarray[Any, np.dtype[np.bool_]]:
    busy = values[values > 0]
    usual = float(np.median(busy)) if len(busy) else 0.0
    had_level = np.cumsum(values >= LEVEL_MIN * usual) >= BATCH
    return had_level & (values <= DEAD_MAX * usual)


def _transient_samples(values: Values) -> int | None:
    batches = len(values) // BATCH
    if batches < BATCHES_MIN:
        return 0
    means = values[: batches * BATCH].reshape(batches, BATCH).mean(axis=1)
    # Sums over means[d:], for every d together; centred first, so that squares of large numbers do not cancel.
    centred = means - means.mean()
    count = np.arange(batches, 0, -1, dtype=np.float64)
    total = np.cumsum(centred[::-1])[::-1]
    squares = np.cumsum((centred**2)[::-1])[::-1]
    statistic = (squares - total**2 / count) / count**2
    # The last four batches always agree with each other by chance.
    best = int(np.argmin(statistic[: max(batches - BATCHES_MIN, 1)]))
    if best == 0:
        return 0
    cut = best * BATCH
    if not _differs(values[:cut], values[cut:]):
        return 0
    return cut if best <= batches * LIMIT else None


def _differs(head: Values, rest: Values) -> bool:
    kept = estimate_mean(rest)
    level = abs(float(rest.mean()))
    difference = abs(float(head.mean()) - float(rest.mean()))
    # The head is a trend, and its own correlation is meaningless, so its error comes from the spread of the rest.
    spread = kept.error * (len(rest) / len(head)) ** 0.5 if kept else 0.0
    return difference > DIFFERENCE_MIN * level and difference > ERRORS_MIN * spread
