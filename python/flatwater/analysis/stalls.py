"""Stalls: stretches in which nothing finished while requests were waiting.

Benchmarks of that time printed such a second as `tps 0, 95% 0.000`, the best latency of the run. Here such a second is
dead, with the age of the oldest waiting request.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flatwater.analysis.stretches import stretches
from flatwater.results.schema import Stall
from flatwater.results.series import Series

#: An empty interval is a stall only if the usual rate would have finished this many requests in it. A disk that does 5
#: writes a second may well have empty 0.1 s intervals (chance of 0 where 10 are expected: 5 in 100,000).
EXPECTED_MIN = 10.0


def find_stalls(done: Series, in_flight: Series, oldest_us: Series, interval_s: float) -> list[Stall]:
    """The stalls of `done` (completions a second), with the age of the oldest waiting request in microseconds.

    `in_flight` and `oldest_us` may be empty or lack intervals. Without either, no request is known to have waited.
    """
    if len(done) == 0:
        return []
    waiting = np.nan_to_num(aligned(in_flight, done)) > 0
    oldest = np.nan_to_num(aligned(oldest_us, done))
    waiting |= oldest >= interval_s * 1e6
    busy = done.value[done.value > 0]
    usual = float(np.median(busy)) if len(busy) else np.inf
    found: list[Stall] = []
    for first, last in stretches((done.value == 0) & waiting):
        start_s = float(done.time_s[first]) - interval_s
        length_s = float(done.time_s[last - 1]) - start_s
        if usual * length_s < EXPECTED_MIN:
            continue
        age_us = float(oldest[first:last].max())
        # If the age was not recorded, the oldest request waited for at least the length of the stall.
        found.append(Stall(start_s=start_s, length_s=length_s, oldest_us=age_us or length_s * 1e6))
    return found


def during(stalls: list[Stall], at: Series) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The intervals of `at` that are in a stall or touch one: at its begin and end an interval is partly dead."""
    dead = np.zeros(len(at), dtype=np.bool_)
    for stall in stalls:
        # Intervals are named by their ends; 1 ms absorbs rounding.
        first = np.searchsorted(at.time_s, stall.start_s - 1e-3)
        last = np.searchsorted(at.time_s, stall.start_s + stall.length_s + 1e-3, side="right")
        dead[first : last + 1] = True
    return dead


def aligned(series: Series, at: Series) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The values of `series` at the times of `at` (to the millisecond), NaN if it has none."""
    values = np.full(len(at), np.nan)
    if len(series) == 0:
        return values
    have, want = np.rint(series.time_s * 1e3), np.rint(at.time_s * 1e3)
    place = np.minimum(np.searchsorted(have, want), len(have) - 1)
    same = have[place] == want
    values[same] = series.value[place[same]]
    return values
