"""A reading that is longer than the usual ones stands for each interval of its time.

Each reading counts alike in a mean and in a verdict. So one of a program that was stopped must not count as one.
"""

from __future__ import annotations

#: A reading that is so many times as long as it should be is of another length.
LONG_TIMES = 1.5
#: One that is longer than this is told: a stall in it would not show.
GAP_TIMES = 2.5


def edges_s(start_s: float, end_s: float, interval_s: float) -> list[float]:
    """The ends of the intervals for which a reading stands, with its start before them: two if it is not long."""
    length_s = end_s - start_s
    if length_s <= LONG_TIMES * interval_s:
        return [start_s, end_s]
    count = round(length_s / interval_s)
    return [start_s + length_s * place / count for place in range(count)] + [end_s]
