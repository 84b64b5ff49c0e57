"""Where a series of repeated measurements changed its level, and by how much.

The search is the hierarchical one of E-divisive: find the place that divides the series best, test it, and go on in
both parts (D. S. Matteson, N. A. James, "A nonparametric approach for multiple change point analysis of multivariate
data", Journal of the American Statistical Association 109, 2014). Apache Otava, formerly Hunter, searches long series
in windows too, takes Student's t in the place of permutations, and at the end judges each place again between its
neighbours (M. Fleming et al., "Hunter: Using change point detection to hunt for performance regressions", ICPE 2023).
So does this module, with three differences:

- The exponent of the energy distance is 2: it compares means. A regression is a change of a mean, and a change of the
  spread alone is none. Then the best place is that of the largest t.
- The p-value says how often noise has its *largest* t, over all places, so far out. Otava takes the plain p-value of
  the place that it found, as if it had not been looked for, and so raises more false alarms than the value says. The
  probability is bounded by K. J. Worsley, "An improved Bonferroni inequality and applications" (Biometrika 69, 1982).
- Values far outside are pulled in before the test, and places near the ends weigh less: one bad run is no change.

Values are compared by their logarithms, so that changes are ratios. `benchmarks/trend.py` measures all of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln
from scipy.stats import t as student

from flatwater.analysis.autocorrelation import CONFIDENCE, student_quantile

Values = np.ndarray[Any, np.dtype[np.float64]]

#: A change is told from this p-value on: one false alarm in a thousand series without a change.
P_MAX = 0.001
#: A level has this many values at least: one value may be an accident.
LEVEL_MIN = 2
#: The t of a place with the share q of the values before it weighs (4 q (1-q)) ** this. 0: all places alike. With 0.5
#: it would be the classical CUSUM, which finds more steps in the middle (0.91 for 0.88) and fewer large ones of the
#: newest runs (0.43 for 0.90, of 20 % two runs ago).
CENTRE_WEIGHT = 0.2
#: Values further from the median than this many standard deviations (estimated from the median deviation) are pulled
#: in. Less, and large changes of the newest two runs are pulled in with the accidents.
CLIP = 5.0
#: Longer series are searched in windows of so many values too, which overlap by half: a level that came and went is
#: small beside a whole series. Otava's windows have 50.
WINDOW = 50
#: Steps of more than so many times are not told as the smallest that is found: there are too few values.
_STEP_MAX = 10.0
#: A median absolute deviation of normal values x this = their standard deviation.
_MAD_TO_SD = 1.4826
#: Points of the Gauss-Legendre rule for the probability that two neighbouring places are both out.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
#: Places are looked at again until they stay; they do so after two or three times.
_PASSES_MAX = 20


@dataclass(frozen=True)
class Change:
    """A change of level between `values[index - 1]` and `values[index]`."""

    index: int
    #: How often noise alone looks so much like a change somewhere.
    p: float
    #: The levels between the neighbouring changes: geometric means, or means of values that are not all above zero.
    before: float
    after: float
    #: after / before, with its 95 % interval for this place (Welch); None for a level of zero or below.
    ratio: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Levels:
    """What a series of values says of changes."""

    changes: list[Change]
    #: Standard deviation of a value around its level, as a share of it; None for levels of zero or below.
    noise: float | None
    #: The smallest step in the middle, as a share, that is found in 95 of 100 series of this length and noise; None for
    #: too few values.
    found_from: float | None


def find_levels(values: Sequence[float], p_max: float = P_MAX) -> Levels:
    """The changes of level in a series of finite values, in their order."""
    raw = np.asarray(values, dtype=np.float64)
    relative = len(raw) > 0 and bool((raw > 0).all())
    # Differences of huge values must not overflow.
    unit = max(float(np.abs(raw).max(initial=0.0)), np.finfo(float).tiny)
    scaled = np.log(raw) if relative else raw / unit
    places = _settle(scaled, _divide(scaled, p_max), p_max)
    edges = [0, *(index for index, _ in places), len(raw)]
    changes = [
        _change(scaled, edges[number : number + 3], p, None if relative else unit)
        for number, (_, p) in enumerate(places)
    ]
    noise = _noise(scaled, edges) if relative else None
    least = smallest_step(len(raw), p_max) * noise if noise is not None else math.inf
    found_from = math.expm1(least) if least < math.log(_STEP_MAX) else None
    return Levels(changes, noise, found_from)


def _divide(values: Values, p_max: float) -> list[int]:
    """The places at which the series divides: those of its windows first, then those between them."""
    count = len(values)
    if count <= WINDOW:
        return sorted(_places(values, 0, count, p_max))
    # Half of the false alarms for the windows, half for the whole.
    starts = range(0, count - WINDOW // 2, WINDOW // 2)
    found: set[int] = set()
    for start in starts:
        found |= _places(values, start, min(start + WINDOW, count), p_max / 2 / len(starts))
    for start, end in itertools.pairwise([0, *sorted(found), count]):
        found |= _places(values, start, end, p_max / 2)
    return sorted(found)


def _places(values: Values, start: int, end: int, p_max: float) -> set[int]:
    """The places at which a stretch and its parts divide."""
    found: set[int] = set()
    waiting = [(start, end)]
    while waiting:
        start, end = waiting.pop()
        place, statistic = strongest(values[start:end])
        if _is_change(end - start, statistic, p_max):
            found.add(start + place)
            waiting += [(start, start + place), (start + place, end)]
    return found


def _is_change(n: int, statistic: float, p_max: float) -> bool:
    if n <= WINDOW:
        # Windows and their parts have few lengths, whose critical values are kept.
        return statistic >= critical_value(n, p_max)
    # The place in the middle, whose weight is 1, is out at least so often as it is alone.
    return bool(2 * student.sf(statistic, n - 2) <= p_max) and chance_of(n, statistic) <= p_max


def _settle(values: Values, places: list[int], p_max: float) -> list[tuple[int, float]]:
    """The places with their p-values, each judged between its neighbours; what is no change there is dropped."""
    judged: list[tuple[int, float]] = []
    for _ in range(_PASSES_MAX):
        edges = [0, *places, len(values)]
        judged = []
        for before, after in zip(edges, edges[2:], strict=False):
            place, statistic = strongest(values[before:after])
            judged.append((before + place, chance_of(after - before, statistic)))
        worst = max(judged, key=lambda one: one[1], default=None)
        if worst is not None and worst[1] > p_max:
            judged.remove(worst)
        elif [place for place, _ in judged] == places:
            break
        places = sorted({place for place, _ in judged})
    return judged


def strongest(values: Values) -> tuple[int, float]:
    """The place that divides the values best (the number of values before it), and its weighted |t|; 0 if none can."""
    if len(values) < 2 * LEVEL_MIN:
        return 0, 0.0
    statistics = weighted_t(values[np.newaxis, :])[0]
    place = int(np.argmax(statistics))
    return LEVEL_MIN + place, float(statistics[place])


def weighted_t(series: Values) -> Values:
    """|t| of each place, weighted, for several series of the same length: (series, values) -> (series, places).

    The first place has LEVEL_MIN values before it.
    """
    n = series.shape[1]
    clipped = _clip(series)
    centred = clipped - clipped.mean(axis=1, keepdims=True)
    before = np.arange(LEVEL_MIN, n - LEVEL_MIN + 1)
    sums = np.cumsum(centred, axis=1)[:, LEVEL_MIN - 1 : n - LEVEL_MIN]
    total = (centred**2).sum(axis=1, keepdims=True)
    # Numbers that differ in their last bits only are equal.
    least = 16 * np.finfo(float).eps * np.maximum(np.abs(series).max(axis=1, keepdims=True), 1.0)
    total[total <= n * least**2] = 0.0
    between = np.where(total > 0, sums**2 * n / (before * (n - before)), 0.0)
    within = np.maximum(total - between, total * np.finfo(float).eps)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(total > 0, np.sqrt(between / (within / (n - 2))), 0.0)
    return np.asarray(found * _place_weights(n))


def _clip(series: Values) -> Values:
    middle = np.median(series, axis=1, keepdims=True)
    spread = CLIP * _MAD_TO_SD * np.median(np.abs(series - middle), axis=1, keepdims=True)
    # More than half of the values are equal, as of a model: then the others are no accidents.
    spread = np.where(spread > 0, spread, np.inf)
    return np.clip(series, middle - spread, middle + spread)


def _place_weights(n: int) -> Values:
    before = np.arange(LEVEL_MIN, n - LEVEL_MIN + 1)
    return np.asarray((4 * before * (n - before) / n**2) ** CENTRE_WEIGHT)


def chance_of(n: int, statistic: float) -> float:
    """How often the largest weighted |t| of n normal values without a change is at least `statistic`: an upper bound.

    Sum of the places' probabilities, less those that two neighbours are both out (Worsley 1982, from Hunter's bound).
    r = t / sqrt(n - 2 + t^2) of a place is the projection of a point that is uniform on a sphere of n - 1 dimensions.
    At p = 0.001 it is within 3 % of simulations up to n = 40, and 1.4 times as much at n = 100.
    """
    if statistic <= 0:
        return 1.0
    before = np.arange(LEVEL_MIN, n - LEVEL_MIN + 1, dtype=np.float64)
    limit = statistic / _place_weights(n)
    alone = 2 * student.sf(limit, n - 2)
    limit = limit / np.sqrt(n - 2 + limit**2)
    return float(min(alone.sum() - _both_out(n, before, limit).sum(), 1.0))


def _both_out(n: int, before: Values, limit: Values) -> Values:
    """For each place and the next: how often the projections of both are beyond their limits."""
    dimensions = n - 1
    together = np.sqrt(before[:-1] * (n - before[1:]) / (before[1:] * (n - before[:-1])))[:, np.newaxis]
    # The first projection is sin(angle), from its limit to 1.
    start = np.arcsin(limit[:-1])[:, np.newaxis]
    half = (np.pi / 2 - start) / 2
    angle = start + half * (_NODES + 1)
    density = np.exp(gammaln(dimensions / 2) - gammaln((dimensions - 1) / 2)) / math.sqrt(math.pi)
    density = density * np.cos(angle) ** (dimensions - 2)
    # Given the first, the second is a projection of a point on the sphere of the other dimensions.
    other = np.sqrt(1 - together**2) * np.cos(angle)
    centre, limits = together * np.sin(angle), limit[1:, np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = _beyond((limits - centre) / other, dimensions - 1) + _beyond((limits + centre) / other, dimensions - 1)
    return np.asarray(2 * (np.nan_to_num(density * beyond) * _WEIGHTS * half).sum(axis=1))


def _beyond(limit: Values, dimensions: int) -> Values:
    """How often a projection of a point that is uniform on a sphere is at least `limit`."""
    limit = np.clip(limit, -1, 1)
    freedom = dimensions - 1
    with np.errstate(divide="ignore"):
        return np.asarray(student.sf(limit * np.sqrt(freedom / (1 - limit**2)), freedom))


@lru_cache(maxsize=4096)
def critical_value(n: int, p_max: float = P_MAX) -> float:
    """The weighted |t| from which on a change in n values is told; infinite if n is too small."""
    if n < 2 * LEVEL_MIN:
        return math.inf
    return math.exp(brentq(lambda log: chance_of(n, math.exp(log)) - p_max, 0.0, math.log(1e9), xtol=1e-5))


def smallest_step(n: int, p_max: float = P_MAX) -> float:
    """The step in the middle of n values that is found in 95 % of series, in standard deviations of a value."""
    # The t of the step itself exceeds the critical value in 95 % of series if it is so much above it.
    return (critical_value(n, p_max) + 1.645) * 2 / math.sqrt(n) if n else math.inf


def _noise(scaled: Values, edges: list[int]) -> float | None:
    """Standard deviation around the levels; None without two values at one level."""
    parts = [scaled[start:end] for start, end in itertools.pairwise(edges)]
    freedom = len(scaled) - len(parts)
    if freedom < 1:
        return None
    return math.sqrt(sum(float(((part - part.mean()) ** 2).sum()) for part in parts) / freedom)


def _change(scaled: Values, edges: list[int], p: float, unit: float | None) -> Change:
    """`unit`: what the values were divided by; None for logarithms."""
    start, place, end = edges
    ours, theirs = scaled[start:place], scaled[place:end]
    level, other = float(ours.mean()), float(theirs.mean())
    half = _welch_half(ours, theirs)
    ends = [other - level + part for part in (0, -half, half)]
    if unit is None:
        return Change(place, p, _exp(level), _exp(other), *(_exp(one) for one in ends))
    ratio, low, high = [1 + one / level for one in ends] if level > 0 else (None, None, None)
    return Change(place, p, level * unit, other * unit, ratio, low, high)


def _exp(value: float) -> float:
    return math.exp(min(value, 709.0))


def _welch_half(ours: Values, theirs: Values) -> float:
    """Half of the 95 % interval of the difference of two means (Welch)."""
    parts = [float(part.var(ddof=1)) / len(part) for part in (ours, theirs)]
    total = sum(parts)
    if total == 0:
        return 0.0
    # Shares of the total: squares of tiny variances would be zero.
    shares = ((part / total) ** 2 / (len(one) - 1) for part, one in zip(parts, (ours, theirs), strict=True))
    freedom = 1 / sum(shares)
    return student_quantile(0.5 + CONFIDENCE / 2, freedom) * math.sqrt(total)
