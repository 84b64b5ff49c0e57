"""Steady state by SNIA's rule (Solid State Storage Performance Test Specification 2.0.x, section 2.1.26).

Over the last five rounds (one minute each) of the tracked value y: max(y) - min(y) <= 20 % of mean(y), and the
least-squares line through them rises or falls by at most 10 % of mean(y) from its first point to its last.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from flatwater.results.series import Series

#: SNIA's window, round, range and slope.
WINDOW = 5
ROUND_S = 60.0
RANGE_MAX = 0.20
RISE_MAX = 0.10

Mask = np.ndarray[Any, np.dtype[np.bool_]]


def percent(share: float) -> str:
    """A share in a sentence, as whole per cent."""
    return f"{100 * share:.0f} %"


@dataclass(frozen=True)
class SteadyVerdict:
    """The rule on one window of rounds. `spread` is its range, `rise` the line's difference from end to end, as shares
    of `mean`.
    """

    mean: float
    spread: float
    rise: float
    rounds: int

    @property
    def steady(self) -> bool:
        """Whether the range and the rise are both within SNIA's limits."""
        return self.spread <= RANGE_MAX and abs(self.rise) <= RISE_MAX

    def __str__(self) -> str:
        way = "rise" if self.rise > 0 else "fall"
        return (
            f"the last {self.rounds} rounds range over {percent(self.spread)} of their mean "
            f"(SNIA allows {percent(RANGE_MAX)}) "
            f"and {way} by {percent(abs(self.rise))} (SNIA allows {percent(RISE_MAX)})"
        )


class SteadyState:
    """The rule during a run: it takes the mean of each round, and says whether the last `window` rounds are steady."""

    def __init__(self, window: int = WINDOW) -> None:
        self._rounds: deque[float] = deque(maxlen=window)

    def add(self, round_mean: float) -> SteadyVerdict | None:
        """None until there are `window` rounds."""
        self._rounds.append(round_mean)
        return judge_window(list(self._rounds)) if len(self._rounds) == self._rounds.maxlen else None


def judge_window(means: Sequence[float]) -> SteadyVerdict:
    """SNIA's rule on the means of one window's rounds, oldest first."""
    y = np.asarray(means, dtype=np.float64)
    mean = float(y.mean())
    if mean <= 0:
        return SteadyVerdict(mean, float("inf"), float("inf"), len(y))
    return SteadyVerdict(mean, float(np.ptp(y)) / mean, line_rise(y) / mean, len(y))


def line_rise(y: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """The difference of the least-squares line through evenly spaced points between its first and its last point."""
    if len(y) < 2:
        return 0.0
    x = np.arange(len(y)) - (len(y) - 1) / 2
    return float(x @ y / (x @ x)) * (len(y) - 1)


@dataclass(frozen=True)
class Rounds:
    """Means of whole rounds of `round_s` seconds; `start_s[i]` is where round i begins."""

    start_s: list[float]
    mean: list[float]
    round_s: float

    def windows(self, window: int) -> list[SteadyVerdict]:
        """The verdict of each window of `window` consecutive rounds, the earliest first; empty with fewer rounds."""
        return [judge_window(self.mean[end - window : end]) for end in range(window, len(self.mean) + 1)]


def make_rounds(series: Series, start_s: float, round_s: float, leave_out: Mask | None = None) -> Rounds:
    """Cuts `series` into whole rounds from `start_s` on.

    `leave_out` marks intervals (dips) that the mean of a round leaves out. A round with less than half of its intervals
    left is left out.
    """
    rounds = Rounds([], [], round_s)
    if len(series) == 0:
        return rounds
    # A millisecond of tolerance: clocks tick late, and an interval belongs to the round in which it ends.
    number = np.ceil((series.time_s - start_s - 1e-3) / round_s).astype(np.int64) - 1
    whole = int((float(series.time_s[-1]) - start_s + 1e-3) / round_s + 1e-9)
    # Only the rounds that have intervals are looked at: a gap may be as long as it likes.
    edges = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(number)]
    for begin, end in pairwise(edges):
        index, part = int(number[begin]), slice(begin, end)
        if not 0 <= index < whole:
            continue
        values = series.value[part]
        if leave_out is not None:
            values = values[~leave_out[part]]
        if len(values) == 0 or 2 * len(values) < end - begin:
            continue
        rounds.start_s.append(start_s + index * round_s)
        rounds.mean.append(float(values.mean()))
    return rounds


def steady_since(series: Series, round_s: float = ROUND_S, window: int = WINDOW) -> float | None:
    """The time of the series from which every window of rounds was steady up to the end; None if the last is not.

    The first interval is assumed to be as long as the second.
    """
    if len(series) < 2:
        return None
    start_s = float(2 * series.time_s[0] - series.time_s[1])
    return since(make_rounds(series, start_s, round_s), window)


def since(rounds: Rounds, window: int) -> float | None:
    """The start of the first window such that it and all later windows are steady."""
    begin: float | None = None
    for index, verdict in reversed(list(enumerate(rounds.windows(window)))):
        if not verdict.steady:
            break
        begin = rounds.start_s[index]
    return begin
