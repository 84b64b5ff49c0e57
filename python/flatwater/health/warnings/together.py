"""Members of an array that wear out together: parity and mirrors protect against drives that fail one by one.

Members of one age get the same writes, so that their rated lives end within days of each other (published experience
of SSDs in mirrors and parity arrays; experiment `raid-wear`). With one spare drive at hand, the second failure comes
while the first one is rebuilt, which is the hardest work that the rest ever had.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from flatwater.health.evidence import Drive, Evidence
from flatwater.health.warnings.finding import Finding, Level

NAME = "together"
#: Our choice: lives that end within a tenth of what is left, or within the month that a new drive and its rebuild take.
_APART_SHARE, _APART_YEARS = 0.1, 30 / 365.25
#: Our choice: from so much wear on it is more than a note.
_WARNING_PCT = 50.0
#: Accounts of wear in whole percent that are so near cannot be told from equal ones.
_APART_PCT = 3.0


def warn(evidence: Evidence) -> Iterator[Finding]:
    """Arrays of which two or more members reach the end at nearly the same time."""
    for array in evidence.arrays:
        if array.redundant is False:
            continue
        members = [drive for disk in array.members if (drive := evidence.drive_of(disk.called)) is not None]
        worn = sorted((one for one in members if one.reading.gauges.used_pct is not None), key=_used)
        near = [pair for pair in pairwise(worn) if _together(*pair)]
        if not near:
            continue
        group = sorted({drive.reading.device for pair in near for drive in pair})
        most = max(_used(drive) for pair in near for drive in pair)
        level: Level = "warning" if most >= _WARNING_PCT else "ok"
        low = min(_used(drive) for pair in near for drive in pair)
        ends = dict.fromkeys(f"{used:.0f}" for used in (low, most))
        span = f"{' to '.join(ends)} %"
        text = f"{', '.join(group)} will wear out together: {span} of their rated lives are used"
        hint = "replace one of them well before the others" if level == "warning" else ""
        yield Finding(level, NAME, array.name, text, hint)


def _used(drive: Drive) -> float:
    return drive.reading.gauges.used_pct or 0.0


def _together(one: Drive, other: Drive) -> bool:
    """By the days on which they end where both are known, else by the shares that are used."""
    ends = [drive.life.years for drive in (one, other) if drive.life is not None and drive.life.years is not None]
    if len(ends) == 2 and max(ends) > 0:
        return max(ends) - min(ends) <= max(_APART_SHARE * max(ends), _APART_YEARS)
    return abs(_used(one) - _used(other)) <= _APART_PCT
