"""Which times of a series can be believed: one damaged digit puts a line into another year.

What is judged and drawn takes time and memory for each interval between the first time and the last. So these follow
from how many lines there are, and never from a number in one of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median, median_low
from typing import Any

import numpy as np

from flatwater.results.long_intervals import GAP_TIMES

#: So many intervals away from all others (or as many as there are lines, if that is more), a line is damaged: a run of
#: a day at 1 s may have a gap of a day.
_FAR_INTERVALS = 1000
#: More lines than this, far away from the others, are no damage: the program went on later.
_FEW = 2
#: One line in so many may be out of its place. Where more are, two programs wrote into one file.
_ALONE_SHARE = 10
#: A line (the series that is judged) has so many intervals at most for each reading, or so many in all. Of fewer
#: readings than one in ten seconds, nothing can be said of what lay between them.
_SPARSE_TIMES = 10
_SPARSE_LEAST = 100_000

Times = np.ndarray[Any, np.dtype[np.float64]]


class DamageNote(str):
    """A note of a file's reader about lines that are left out, because no clock gave their times."""

    __slots__ = ()


def usual_interval(times: Sequence[float]) -> float | None:
    """The median distance of samples; None for fewer than two."""
    distances = [after - before for before, after in pairwise(times) if after > before]
    return median(distances) if distances else None


def gap_note(times: Sequence[float], lines: Sequence[int]) -> list[str]:
    """The note about gaps between samples, with the line behind the longest; empty if there are none."""
    usual = usual_interval(times)
    if usual is None:
        return []
    distances = [after - before for before, after in pairwise(times)]
    gaps = [distance for distance in distances if distance > GAP_TIMES * usual]
    if not gaps:
        return []
    many = f"{len(gaps)} gaps" if len(gaps) > 1 else "a gap"
    line = lines[distances.index(max(gaps)) + 1]
    place = f", before line {line}" if line else ""
    return [f"{many} without samples, the longest of {max(gaps):.0f} s{place}"]


def damaged(times: Sequence[float], usual_s: float | None = None, least_s: float = 0.0) -> list[int]:
    """The places of times that no clock gave: between two that follow each other, or far away from all others.

    `times` are in the order of the file; `usual_s` is their usual distance, where they do not show it. What is nearer
    than `least_s` is not far.
    """
    distances = [after - before for before, after in pairwise(times) if after > before]
    if usual_s is None and not distances:
        return []
    usual = usual_s if usual_s is not None else median_low(distances)
    alone = _alone(times, usual)
    rest = [place for place in range(len(times)) if place not in alone]
    limit_s = max(far_s(len(times), usual), least_s)
    far = far_away(np.array([times[place] for place in rest], dtype=np.float64), limit_s)
    return sorted([*alone, *(rest[place] for place in far)])


def far_s(count: int, usual_s: float) -> float:
    """From which distance on a line is far from the others, of so many intervals."""
    return max(_FAR_INTERVALS, count) * usual_s


def far_away(times: Times, limit_s: float) -> list[int]:
    """The places of a few times that are so far away from all others."""
    order = np.argsort(times, kind="stable")
    edges = [0, *(np.flatnonzero(np.diff(times[order]) > limit_s) + 1).tolist(), len(order)]
    groups = [order[begin:end] for begin, end in pairwise(edges)]
    most = max(groups, key=len)
    return sorted(int(place) for one in groups if one is not most and len(one) <= _FEW for place in one)


def _alone(times: Sequence[float], usual: float) -> set[int]:
    """Places whose times do not lie between those before and behind them, which follow each other."""
    found: set[int] = set()
    kept: list[int] = [0]
    for place in range(1, len(times) - 1):
        earlier, now, later = times[kept[-1]], times[place], times[place + 1]
        follows = earlier < later <= earlier + 2 * GAP_TIMES * usual and not earlier <= now <= later
        # Two times on one side go on in the same way: else it is not known which of the three is wrong.
        before = len(kept) > 1 and times[kept[-2]] < earlier
        behind = place + 2 < len(times) and later < times[place + 2]
        if follows and (before or behind):
            found.add(place)
        else:
            kept.append(place)
    return found if len(found) * _ALONE_SHARE <= max(len(times), _ALONE_SHARE) else set()


def damage_note(times: Sequence[float], lines: Sequence[int], places: Sequence[int]) -> DamageNote:
    """The note about lines that are left out because their times cannot be believed."""
    first, gone = places[0], set(places)
    before = next((times[place] for place in range(first - 1, -1, -1) if place not in gone), math.inf)
    behind = next((times[place] for place in range(first + 1, len(times)) if place not in gone), math.inf)
    off_s = min(abs(before - times[first]), abs(behind - times[first]))
    more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
    return DamageNote(
        f"line {lines[first]}{more} left out: its time lies {length_text(off_s)} away from those around it"
    )


def is_damage(note: str) -> bool:
    """Whether it is a note of `damage_note`, and does not have the name of its file yet."""
    return isinstance(note, DamageNote)


def length_text(length_s: float) -> str:
    """A length of time in the unit that it is read in: 40 s, 3 days, 63 years."""
    for unit, unit_s in (("years", 365.25 * 86400), ("days", 86400.0), ("hours", 3600.0)):
        if length_s >= 2 * unit_s:
            return f"{length_s / unit_s:,.0f} {unit}"
    return f"{length_s:,.0f} s"


def joined_part(times: Sequence[float]) -> tuple[int, int]:
    """The longest part of a line that is dense enough to be judged as one, as first and last place plus one.

    `times` only grow. All of them, unless next to nothing of their length was recorded.
    """
    usual = usual_interval(times) or 1.0
    short = _longest(times, _SPARSE_LEAST * usual)
    # What a reading may take is taken off its time: what is left grows where the line is sparser than that.
    own_s = _SPARSE_TIMES * usual
    dense = _longest([at_s - own_s * place for place, at_s in enumerate(times)], own_s)
    return max(dense, short, key=lambda part: part[1] - part[0])


def _longest(values: Sequence[float], most: float) -> tuple[int, int]:
    """The longest part whose last value is above its first by no more than `most`."""
    least_behind = [*values, math.inf]
    for place in range(len(values) - 1, -1, -1):
        least_behind[place] = min(values[place], least_behind[place + 1])
    best, end, highest = (0, 0), 0, -math.inf
    for first, value in enumerate(values):
        if value <= highest:
            continue  # a part that begins earlier reaches as far
        highest = value
        while end < len(values) and least_behind[end] <= value + most:
            end += 1
        if end - first > best[1] - best[0]:
            best = first, end
    return best


def intervals_max(count: int) -> int:
    """How many intervals a line of so many readings may have."""
    return max(_SPARSE_LEAST, _SPARSE_TIMES * count)
