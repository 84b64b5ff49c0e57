"""Figures of health in words. Bytes are decimal here, as data sheets of drives count them."""

from __future__ import annotations

from datetime import UTC, datetime

from flatwater.health.life import YEARS_MAX, Life

_STEPS = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_DAYS_A_YEAR = 365.25
_LAST_DAY_S = 253_370_764_800.0  # 9999-01-01: dates end with that year
#: A smaller share is not told in figures.
_USED_SHOWN_PCT = 0.01


def bytes_text(count: float) -> str:
    """`12.3 TB`, of 10^12 bytes."""
    step, unit = next((step for step in _STEPS if count >= step[0]), (1.0, "B"))
    value = count / step
    return f"{value:.3g} {unit}" if value < 99.95 else f"{value:,.0f} {unit}"


def span_text(years: float) -> str:
    """`3.4 years`, `7 months`, `12 days`, `5 hours`."""
    if years > YEARS_MAX:
        return f"more than {YEARS_MAX:.0f} years"
    days = years * _DAYS_A_YEAR
    if years >= 10:
        return f"{years:.0f} years"
    if years >= 2:
        return f"{years:.1f} years"
    if days >= 60:
        return f"{days / 30.44:.0f} months"
    if days >= 2:
        return f"{days:.0f} days"
    return f"{days * 24:.1f} hours"


def used_text(pct: float) -> str:
    """`40 % of its rated life is used`."""
    share = f"less than {_USED_SHOWN_PCT:g}" if 0 < pct < _USED_SHOWN_PCT else f"{pct:.3g}"
    return f"{share} % of its rated life is used"


def day_text(at_s: float) -> str:
    """`on 2031-05-02`, the day in UTC."""
    return f"on {datetime.fromtimestamp(min(at_s, _LAST_DAY_S), UTC):%Y-%m-%d}"


def life_text(life: Life) -> str:
    """What is left, with its interval and the day: `3.4 years (3.1 to 3.8), until 2031-05-02`."""
    if life.years is None:
        return life.basis if life.low is None else f"at least {span_text(life.low)} ({life.basis})"
    if life.years == 0:
        return life.basis
    if life.low is not None and life.low > YEARS_MAX:
        return f"more than {YEARS_MAX:.0f} years"
    text = span_text(life.years)
    if life.low is not None and life.high is not None and life.low != life.high:
        text += f" ({span_text(life.low)} to {span_text(life.high)})"
    elif life.low is not None and life.low != life.years:
        text += f" (at least {span_text(life.low)})"
    if life.ends_at_s is not None and life.years <= YEARS_MAX:
        text += f", until {day_text(life.ends_at_s).removeprefix('on ')}"
    return text
