"""Dips: stretches in which a run does much less than the level that it can hold.

The *usual level* is the upper quartile of throughput: the stack can do a level that it holds for a quarter of the time.
For a flat line with dips this is the median. For a line that swings smoothly, as MySQL 5.5.8's 24,900 -> 17,700 NOTPM
three times an hour, the median is half way down the swing, and a threshold under it would miss the swing.

A dip is a stretch under 80 % of that level. The swing of 28 % was the smallest that the laboratory called a dip, and
SNIA's rule still calls a trend of 10 % steady; the threshold lies between the two. A dip begins when the line leaves 90
% of the level, and ends when it returns there, so that a slow or ragged dip is one dip and not twenty.

A stall is not a dip: the caller passes the intervals of stalls, and they are left out.

Noise must not make dips. If single intervals scatter by more than 3 % of the level, the series is first averaged over
as many intervals as reduce the scatter to 3 %, but over a twentieth of the run at most. Where that is not enough, a dip
must be deeper: five of the standard deviations that are left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from flatwater.analysis.autocorrelation import Values
from flatwater.analysis.stretches import stretches
from flatwater.results.schema import Dip
from flatwater.results.series import Series

#: A dip is throughput under (1 - this) x the usual level.
DEPTH_MIN = 0.20
#: A dip lasts while throughput is under (1 - this) x the usual level.
RECOVERED = 0.10
#: The level that the run holds for a quarter of its time.
USUAL_PCT = 75.0
#: A dip is at least this many standard deviations of the averaged series under the usual level, which itself is two
#: thirds of one above the median: noise makes one in a hundred thousand intervals.
DEVIATIONS_MIN = 5.0
#: Scatter between neighbouring intervals above this share of the level is averaged away before dips are looked for.
NOISE_MAX = 0.03
#: At most the run divided by this is averaged over.
AVERAGED_MAX = 20
#: Stretches that are separated by one good interval are one dip.
MERGE_GAP = 1
#: A low stretch at the begin or end of the series is a dip that the edge cut off. If it is longer than this share of
#: the run, it is a change of level, which the steady-state rule reports.
EDGE_MAX = 0.2
#: Dips have a period if there are at least this many and their spacing scatters by at most this share of its median.
PERIOD_DIPS_MIN = 3
PERIOD_SCATTER_MAX = 0.25

Marks = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Dips:
    """The dips of a series; `low` marks the intervals of `series` that are in a dip or a stall."""

    dips: list[Dip]
    period_s: float | None
    low: Marks
    usual: float


def find_dips(series: Series, interval_s: float, stalled: Marks | None = None) -> Dips:
    """The dips of a throughput series, with start and length in seconds, and depth as a share of the usual level.

    `stalled` marks the intervals of `series` that a stall has touched.
    """
    n = len(series)
    dead = np.zeros(n, dtype=np.bool_) if stalled is None else stalled
    low = dead.copy()
    values = series.value[~dead]
    if len(values) == 0 or float(np.percentile(values, USUAL_PCT)) <= 0:
        return Dips([], None, low, 0.0)
    averaged, left = _averaged(values)
    usual = float(np.percentile(averaged, USUAL_PCT))
    smooth = np.full(n, usual)
    smooth[~dead] = averaged
    found: list[Dip] = []
    deep = smooth < usual - max(DEPTH_MIN * usual, DEVIATIONS_MIN * left)
    for first, last in stretches(smooth < (1 - RECOVERED) * usual, MERGE_GAP):
        if not deep[first:last].any():
            continue
        if (first == 0 or last == n) and last - first > EDGE_MAX * n:
            continue
        low[first:last] = True
        start_s = float(series.time_s[first]) - interval_s
        found.append(
            Dip(
                start_s=start_s,
                length_s=float(series.time_s[last - 1]) - start_s,
                depth=1 - max(float(smooth[first:last].min()), 0.0) / usual,
            )
        )
    return Dips(found, _period(found), low, usual)


def scatter(values: Values) -> float:
    """Standard deviation of the noise between neighbours; slow changes and rare jumps do not affect it."""
    if len(values) < 3:
        return 0.0
    # Median absolute difference / 0.6745 estimates the deviation of a difference, sqrt(2) times a sample's.
    return float(np.median(np.abs(np.diff(values)))) / 0.6745 / math.sqrt(2)


def _averaged(values: Values) -> tuple[Values, float]:
    """The series averaged over as many intervals as its noise needs, and the scatter that is left in it."""
    level = float(np.percentile(values, USUAL_PCT))
    noise = scatter(values)
    width = min(math.ceil((noise / (NOISE_MAX * level)) ** 2), max(len(values) // AVERAGED_MAX, 1))
    if width <= 1:
        return values, noise
    total = np.concatenate(([0.0], np.cumsum(values)))
    first = np.maximum(np.arange(len(values)) - (width - 1) // 2, 0)
    last = np.minimum(np.arange(len(values)) + width // 2 + 1, len(values))
    averaged: Values = (total[last] - total[first]) / (last - first)
    return averaged, noise / math.sqrt(width)


def _period(dips: list[Dip]) -> float | None:
    if len(dips) < PERIOD_DIPS_MIN:
        return None
    # From middle to middle: the edges of a smooth dip move with the noise, its middle does not.
    middles = np.array([dip.start_s + dip.length_s / 2 for dip in dips])
    spacing = np.diff(middles)
    period = float(np.median(spacing))
    regular = float(np.abs(spacing - period).max()) <= PERIOD_SCATTER_MAX * period
    return period if regular else None
