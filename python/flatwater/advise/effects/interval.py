"""The interval of an effect that pairs of modelled runs show.

Each pair is one seed: the throughput with the change over the throughput without it. A later pair has another seed and
may be longer. So the interval is that of one more pair, and it reaches as far as the ratio of longer runs, if they go
on as the second half of these did. It also reaches as far as the ratio over the run that was advised on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flatwater.analysis.autocorrelation import CONFIDENCE, student_quantile
from flatwater.what_if.noise import Z95

#: No effect is told more exactly than this share. Two runs of a model that differ in one second of their length differ
#: by about as much: a second is a hundredth of the shortest run that is worth a name.
FINEST = 0.01


@dataclass(frozen=True)
class Pair:
    """Logarithms of changed / unchanged throughput: of the measured phase, and of one `LONGER` times as long."""

    whole: float
    longer: float


#: A rerun may be longer than the run, up to so many times.
LONGER = 3


def pair_of(before: Sequence[float], after: Sequence[float]) -> Pair:
    """The pair of two measured phases, given as the throughput of each half. All of them are above 0.

    Longer phases go on at the level of the second halves.
    """
    whole = math.log(sum(after) / sum(before))
    halves = 2 * (LONGER - 1)
    longer = math.log((sum(after) + halves * after[1]) / (sum(before) + halves * before[1]))
    return Pair(whole, longer)


@dataclass(frozen=True)
class Interval:
    """A ratio, and where 19 of 20 later ratios are expected."""

    low: float
    ratio: float
    high: float


def effect_interval(pairs: Sequence[Pair], off: float = 0.0, noise: float = 0.0, own: float = 0.0) -> Interval:
    """The interval of one more pair of runs; at least two pairs.

    It is the mean of the logarithms, and around it Student's t times the standard deviation of one more pair. If the
    effect of longer runs is another one, the interval goes on in that direction by the difference.

    `own`: logarithm of the unchanged runs' throughput over that of the run that was advised on, which had another seed.
    A change gains as much more over that run, and the interval goes on in that direction, too.

    `off`: |logarithm| by which the modelled runs are off the run that was advised on. By as much the effect may differ,
    in any direction. `noise`: standard deviation, as a share, of the mean of a run in real time; there are two of them,
    the one that was advised on and the one to come.
    """
    whole = np.array([pair.whole for pair in pairs])
    centre = float(whole.mean())
    deviation = float(whole.std(ddof=1)) * math.sqrt(1 + 1 / len(pairs))
    half = student_quantile(0.5 + CONFIDENCE / 2, len(pairs) - 1) * deviation
    half = max(math.hypot(half, Z95 * math.sqrt(2) * noise), FINEST) + abs(off)
    moved = float(np.mean([pair.longer - pair.whole for pair in pairs]))
    low = centre - half + min(moved, 0.0) + min(own, 0.0)
    high = centre + half + max(moved, 0.0) + max(own, 0.0)
    return Interval(math.exp(low), math.exp(centre), math.exp(high))
