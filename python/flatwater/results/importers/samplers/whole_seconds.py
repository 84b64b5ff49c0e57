"""Times in whole seconds of readings that came somewhat less often: they skip a second now and then.

The rate of such an interval would be half of what it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

#: Samples over which times are evened out: a knot is up to a second off, so a rate up to a sixtieth.
_EVENED = 60
#: Skips come as often as a script is slow: one in so many intervals at least, or one like the other.
_SKIPS_LEAST = 50
#: Fewer may be samples that are missing.
_SKIPS_MIN = 3
#: Distances of skips that come one like the other differ by this share, or by so many intervals.
_LIKE, _LIKE_MIN = 0.2, 2
#: An interval in which as much was counted as in the others, within this share, is none of two.
_SAME = 0.25
#: The note about it.
EVENED = "times in whole seconds, with seconds skipped: evened out over a minute"


def evened(times: Sequence[float], counted: Sequence[float | None] = ()) -> list[float]:
    """The times evened out over a minute, or the same times where no seconds were skipped.

    A sample that is missing once is a longer interval. What was counted in each interval tells the two apart: a skip
    has as much as any other.
    """
    same = list(times)
    distances = [round(after - before) for before, after in pairwise(times)]
    if not distances or any(at_s != int(at_s) for at_s in times):
        return same
    step = round(median(distances))
    skips = [place for place, distance in enumerate(distances) if distance == step + 1]
    short = {step - 1, step} if step > 1 or 0 in distances else {step}
    if step < 1 or not skips or not set(distances) <= {*short, step + 1}:
        return same
    share = _share_of_usual(skips, counted)
    # More than half a step more was counted: then these intervals were longer.
    is_often = _often(skips, len(distances)) and (share is None or share[1] < 1 + 1 / (2 * step))
    if not is_often and (share is None or max(abs(one - 1) for one in share[0]) > _SAME):
        return same
    found: list[float] = []
    for first in range(0, len(times) - 1, _EVENED):
        last = min(first + _EVENED, len(times) - 1)
        step_s = (times[last] - times[first]) / (last - first)
        found += [times[first] + step_s * number for number in range(last - first)]
    found.append(times[-1])
    return found if all(before < after for before, after in pairwise(found)) else same


def _often(skips: Sequence[int], count: int) -> bool:
    if len(skips) < _SKIPS_MIN:
        return False
    apart = [after - before for before, after in pairwise(skips)]
    alike = max(apart) - min(apart) <= max(_LIKE_MIN, _LIKE * max(apart))
    return alike or len(skips) * _SKIPS_LEAST >= count


def _share_of_usual(skips: Sequence[int], counted: Sequence[float | None]) -> tuple[list[float], float] | None:
    """What was counted in each skip, and in their middle, as shares of what usually was; None if it is not known."""
    gone = set(skips)
    usual = [value for place, value in enumerate(counted) if value is not None and place not in gone]
    own = [counted[place] for place in skips if place < len(counted)]
    known = [value for value in own if value is not None]
    if not usual or not known or len(known) < len(skips) or (middle := median(usual)) <= 0:
        return None
    shares = [value / middle for value in known]
    return shares, median(shares)
