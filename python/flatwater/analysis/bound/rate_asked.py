"""The load asked for was served: nothing held the run back but what it was asked to do."""

from __future__ import annotations

import numpy as np

from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.line import Line
from flatwater.analysis.bound.words import figure, percent

#: Arrivals at random scatter by the square root of their number: less than three such deviations under the rate asked
#: are chance (1 in 700 intervals). Those at a fixed pace scatter by one at the edge of an interval, which is less.
_DEVIATIONS = 3.0


def find(evidence: Evidence) -> Finding | None:
    """The share of the seconds in which what was asked for was done."""
    load, rate = evidence.load, evidence.load.ops_per_s
    if rate is None:
        return None
    if load.rate_per_s is not None:
        return _of_rate(load.rate_per_s, rate, evidence)
    if load.kind == "observed":
        return _of_clients(load.in_flight)
    return _of_terminals(load.concurrency, load.pause_s, rate) if load.pause_s and load.concurrency else None


def _of_rate(asked: float, rate: Line, evidence: Evidence) -> Finding | None:
    due = asked * evidence.interval_s
    least = max(0.0, due - max(_DEVIATIONS * np.sqrt(due), 1.0)) / evidence.interval_s
    share = rate.share_at_least(least)
    flying = evidence.load.in_flight
    return found(
        "rate asked",
        share,
        "seconds",
        f"{figure(asked)} a second were asked for, and {figure(rate.mean)} were done",
        f"{percent(share)} of the seconds did what was due",
        f"{figure(flying.mean)} were in flight on average" if flying is not None else None,
    )


def _of_clients(running: Line | None) -> Finding | None:
    """Of an observed server: the seconds in which nobody was in a statement. Nothing was kept waiting then."""
    if running is None:
        return None
    idle = 1 - running.share_at_least(1.0)
    return found(
        "rate asked",
        idle,
        "seconds",
        f"no session was in a statement in {percent(idle)} of the samples, one in each interval",
        f"{figure(running.mean)} sessions were in a statement on average",
    )


def _of_terminals(terminals: int, pause_s: float, rate: Line) -> Finding | None:
    due = terminals / pause_s
    share = min(1.0, rate.mean / due)
    return found(
        "rate asked",
        share,
        "time",
        f"{terminals} connections that key or think for {figure(pause_s)} s each time do {figure(due)} transactions a "
        f"second at most, and {figure(rate.mean)} were done",
    )
