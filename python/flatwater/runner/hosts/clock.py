"""The clocks of load hosts, seen from here: how far each is ahead, within which bound, and how fast it drifts.

A host is asked for its time. Its answer was made between our question and its arrival, however long either way took.
So each exchange bounds the offset on both sides, and several exchanges bound it by the tightest of them (Mills, RFC
5905, section 8, has the same exchange; Cristian, Probabilistic clock synchronization, 1989, the bound).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Exchanges of one estimate: the fastest of them decides, and the queues of a busy machine rarely delay them all.
EXCHANGES = 15


@dataclass(frozen=True)
class Exchange:
    """A question for the time, and its answer, ns."""

    #: Our clock when the question left.
    asked_ns: int
    #: Their clock when they answered.
    theirs_ns: int
    #: Our clock when the answer was here.
    answered_ns: int


@dataclass(frozen=True)
class Offset:
    """How far their clock is ahead of ours, ns: `offset_ns` give or take `bound_ns`."""

    #: Our clock in the middle of the exchanges.
    at_ns: int
    offset_ns: int
    bound_ns: int

    def theirs(self, ours_ns: int) -> int:
        """What their clock shows when ours shows `ours_ns`."""
        return ours_ns + self.offset_ns


@dataclass(frozen=True)
class Drift:
    """How much faster their clock runs than ours: `ppm` give or take `bound_ppm`."""

    ppm: float
    bound_ppm: float


def estimate(exchanges: Sequence[Exchange]) -> Offset:
    """The offset that all exchanges allow. There must be at least one."""
    at_ns = (exchanges[0].asked_ns + exchanges[-1].answered_ns) // 2
    lowest = max(one.theirs_ns - one.answered_ns for one in exchanges)
    highest = min(one.theirs_ns - one.asked_ns for one in exchanges)
    if lowest > highest:
        # A clock was set between two exchanges: only the fastest one counts.
        fastest = min(exchanges, key=lambda one: one.answered_ns - one.asked_ns)
        lowest, highest = fastest.theirs_ns - fastest.answered_ns, fastest.theirs_ns - fastest.asked_ns
    return Offset(at_ns, (lowest + highest) // 2, (highest - lowest + 1) // 2)


def drift_between(first: Offset, last: Offset) -> Drift | None:
    """The drift from one estimate to a later one; None without time between them."""
    between_ns = last.at_ns - first.at_ns
    if between_ns <= 0:
        return None
    moved_ns, bound_ns = last.offset_ns - first.offset_ns, first.bound_ns + last.bound_ns
    return Drift(1e6 * moved_ns / between_ns, 1e6 * bound_ns / between_ns)
