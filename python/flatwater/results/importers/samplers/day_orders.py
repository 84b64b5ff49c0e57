"""Dates with slashes: month first, as in the USA, or day first, as in Great Britain. A file has one order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from flatwater.results.importers.samplers.sampler import Recording
from flatwater.results.importers.texts import read_text

_DATE = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})(?![\d/])")
_MONTHS = 12


def in_either_order(path: Path, read: Callable[[Path, bool], Recording]) -> Recording:
    """What `read` makes of a file, with the day first if one of its dates shows that. Errors: those of `read`.

    Where its dates show no order, the recording is that with the month first, and has the other one, too.
    """
    counts = Counter((int(match[1]), int(match[2]), len(match[3])) for match in _DATE.finditer(read_text(path)))
    # A heading may be in another form than the times: the form that most dates have is judged.
    long = sum(count if digits == 4 else -count for (_, _, digits), count in counts.items()) > 0
    pairs = {(first, second) for first, second, digits in counts if (digits == 4) == long}
    month_first = any(second > _MONTHS >= first for first, second in pairs)
    day_first = any(first > _MONTHS >= second for first, second in pairs)
    recording = read(path, day_first and not month_first)
    if not month_first and not day_first and any(first != second for first, second in pairs):
        # Where its times do not come of these dates (a heading only), the order does not matter.
        other = read(path, True)
        recording.day_first = other if other.times != recording.times else None
    return recording
