"""Paired rounds: storage and neighbours drift, so only runs that stand side by side are divided by each other."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

#: Confidence that an interval has, when there are enough rounds for it.
CONFIDENCE = 0.95

T = TypeVar("T")


def alternating(contestants: Sequence[T], rounds: int) -> Iterator[tuple[int, T]]:
    """(round, contestant): AB BA AB ..., so that what drifts or follows a run meets all of them alike."""
    for number in range(rounds):
        for contestant in contestants if number % 2 == 0 else reversed(contestants):
            yield number, contestant


@dataclass(frozen=True)
class Target:
    """A limit that a figure is held against."""

    sense: Literal["at least", "at most"]
    limit: float

    def holds(self, value: float) -> bool:
        """Whether a value meets it."""
        return value >= self.limit if self.sense == "at least" else value <= self.limit

    def text(self) -> str:
        """The target in a table's cell."""
        return f"{'≥' if self.sense == 'at least' else '≤'} {self.limit:,.10g}"


@dataclass(frozen=True)
class Ratio:
    """The median of the rounds' ratios, and an interval of order statistics around it."""

    median: float
    low: float
    high: float
    rounds: int

    def verdict(self, target: Target) -> str:
        """`met` or `not met` by the median; `undecided` when it misses but the interval reaches the target."""
        if target.holds(self.median):
            return "met"
        return "undecided" if target.holds(self.low) or target.holds(self.high) else "**not met**"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """Ours over theirs, round by round.

    The interval holds the median of what would be measured for ever with at least 95 % confidence, whatever the
    distribution: a sign test turned round. Fewer than six rounds cannot give that: then it is all that was seen.
    """
    values = sorted(one / other for one, other in zip(ours, theirs, strict=True))
    outside = _outside(len(values))
    return Ratio(statistics.median(values), values[outside], values[-1 - outside], len(values))


def _outside(count: int) -> int:
    """How many values may be left out on each side."""
    outside = 0
    while 2 * outside + 3 <= count and confidence(count, outside + 1) >= CONFIDENCE:
        outside += 1
    return outside


def confidence(count: int, outside: int | None = None) -> float:
    """Probability that the median lies between the order statistics that are left after `outside` on each side."""
    left = _outside(count) if outside is None else outside
    return float(1 - 2 * sum(math.comb(count, k) for k in range(left + 1)) / 2**count)
