"""Paired rounds. Storage and other load drift, so only runs next to each other in time are compared."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from scipy.stats import t as student

#: The confidence of an interval, if there are enough rounds.
CONFIDENCE = 0.95

T = TypeVar("T")


def alternating(contestants: Sequence[T], rounds: int) -> Iterator[tuple[int, T]]:
    """(round, contestant) in the order AB BA AB ..., so that a drift, or the effect of the run before, is the same for
    all.
    """
    for number in range(rounds):
        for contestant in contestants if number % 2 == 0 else reversed(contestants):
            yield number, contestant


@dataclass(frozen=True)
class Target:
    """A limit for a figure."""

    sense: Literal["at least", "at most"]
    limit: float

    def holds(self, value: float) -> bool:
        """Whether a value meets the limit."""
        return value >= self.limit if self.sense == "at least" else value <= self.limit

    def text(self) -> str:
        """The text of the target in a table."""
        return f"{'≥' if self.sense == 'at least' else '≤'} {self.limit:,.10g}"


@dataclass(frozen=True)
class Ratio:
    """The median of the rounds' ratios, and an interval of order statistics around it."""

    median: float
    low: float
    high: float
    rounds: int

    def verdict(self, target: Target) -> str:
        """`met` or `not met` by the median; `undecided` when the median misses but the interval reaches the target."""
        if target.holds(self.median):
            return "met"
        return "undecided" if target.holds(self.low) or target.holds(self.high) else "**not met**"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """Ours / theirs, round by round."""
    return spread([one / other for one, other in zip(ours, theirs, strict=True)])


def spread(found: Sequence[float]) -> Ratio:
    """The median of values that are ratios already, or that have nothing beside them.

    With at least 95 % confidence, the interval contains the median of infinitely many rounds, for any distribution (an
    inverted sign test). Fewer than six rounds are not enough for that: then it is the range of all rounds.
    """
    values = sorted(found)
    outside = _outside(len(values))
    return Ratio(statistics.median(values), values[outside], values[-1 - outside], len(values))


def log_half_width(ratios: Sequence[float]) -> float | None:
    """Half of the confidence interval of the mean of the ratios' logarithms (Student's t); None for fewer than two.

    For so few rounds that order statistics say nothing.
    """
    if len(ratios) < 2:
        return None
    logs = [math.log(one) for one in ratios]
    quantile = float(student.ppf((1 + CONFIDENCE) / 2, len(logs) - 1))
    return quantile * statistics.stdev(logs) / math.sqrt(len(logs))


def _outside(count: int) -> int:
    """The number of values that are left out on each side."""
    outside = 0
    while 2 * outside + 3 <= count and confidence(count, outside + 1) >= CONFIDENCE:
        outside += 1
    return outside


def confidence(count: int, outside: int | None = None) -> float:
    """Probability that the median lies between the order statistics without `outside` values on each side."""
    left = _outside(count) if outside is None else outside
    return float(1 - 2 * sum(math.comb(count, k) for k in range(left + 1)) / 2**count)
