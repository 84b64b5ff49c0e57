"""A rated life that is used up, or ends soon at the present rate."""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.health.evidence import Evidence
from flatwater.health.life import YEAR_S
from flatwater.health.warnings.finding import Finding, Level
from flatwater.health.words import day_text, span_text

NAME = "worn"
#: Our choice. 100 is where the maker's rating ends; drives go on, and no promise does.
_WARNING_PCT, _CRITICAL_PCT = 90, 100
#: Our choice: half a year to buy a drive, a month to put it in.
_SOON_DAYS, _AT_ONCE_DAYS = 180, 30
_DAY_S = 86_400.0


def warn(evidence: Evidence) -> Iterator[Finding]:
    """The share of the life that is used, and the day that it ends."""
    for drive in evidence.drives:
        used, device, life = drive.reading.gauges.used_pct, drive.reading.device, drive.life
        if used is None:
            continue
        if used >= _WARNING_PCT:
            level: Level = "critical" if used >= _CRITICAL_PCT else "warning"
            text = f"{used:.0f} % of its rated life is used"
            yield Finding(level, NAME, device, text, "replace it, or plan to")
        elif life is not None and life.years is not None and life.ends_at_s is not None:
            days = life.years * YEAR_S / _DAY_S
            if days <= _SOON_DAYS:
                level = "critical" if days <= _AT_ONCE_DAYS else "warning"
                text = f"at the present rate its rated life ends in {span_text(life.years)}, {day_text(life.ends_at_s)}"
                yield Finding(level, NAME, device, text, "order its successor, or write less to it")
