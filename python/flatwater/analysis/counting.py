"""What chance alone does to a count: a second in which a hundred transactions end scatters by a tenth.

Clients that do not wait for each other end their transactions independently. How many end in an interval is then a
Poisson variable: its standard deviation is the root of its mean.
"""

from __future__ import annotations

import math

from flatwater.analysis.words import counts_by_the_minute, is_a_count
from flatwater.results.series import Series


def events_an_interval(throughput: Series, completed: Series, unit: str, interval_s: float) -> float | None:
    """How many of what `unit` counts end in an interval, on average; None if nothing says so.

    `completed` (requests a second) is used where the unit is not a count, as MiB/s; it may be empty.
    """
    counted = throughput if is_a_count(unit) else completed
    if len(counted) == 0:
        return None
    a_second = float(counted.value.mean()) / (60 if counts_by_the_minute(unit) else 1)
    return a_second * interval_s


def scatter_of_counting(events: float | None) -> float:
    """The standard deviation that counting alone gives a mean of `events`, as a share of it; 0 if that is not known."""
    return 1 / math.sqrt(events) if events else 0.0
