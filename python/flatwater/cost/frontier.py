"""The efficient frontier: what nothing else beats at its price (Pareto)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

#: yes: nothing gives as much for less. perhaps: something does, by less than its interval is wide. no: something does.
OnFrontier = Literal["yes", "perhaps", "no"]


@dataclass(frozen=True)
class Point:
    """What something costs and does; `low` to `high` is the interval of what it does."""

    cost: float
    throughput: float
    low: float
    high: float


def frontier(points: Sequence[Point]) -> list[OnFrontier]:
    """For each point, whether it is on the frontier."""
    return [_judge(point, [other for other in points if other is not point]) for point in points]


def _judge(point: Point, others: Sequence[Point]) -> OnFrontier:
    better = [other for other in others if _beats(other, point)]
    if not better:
        return "yes"
    # One that beats it for certain is enough.
    sure = any(other.low >= point.high or other.throughput == point.throughput for other in better)
    return "no" if sure else "perhaps"


def _beats(other: Point, point: Point) -> bool:
    """Whether the other one does as much for less, or more for as much."""
    at_least = other.cost <= point.cost and other.throughput >= point.throughput
    return at_least and (other.cost < point.cost or other.throughput > point.throughput)
