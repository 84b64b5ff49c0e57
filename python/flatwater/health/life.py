"""How long a drive lasts: what is left of its rated life, at a rate of writing.

Life ends when the drive's own account of the rated life used reaches 100 %. That is the maker's rating, not the moment
of failure: NVM Express says of Percentage Used that 100 "may not indicate a failure", and drives have been written far
beyond it. The account is in whole percent, so that every figure has an interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flatwater.health.drive import Gauges, Reading
from flatwater.health.history import DAY_S, Entry

YEAR_S = 365.25 * DAY_S
_HOUR_S = 3600.0
#: The present rate is that of the last month, where the history is long enough; less than a day says nothing of a week.
WINDOW_S, WINDOW_MIN_S = 30 * DAY_S, DAY_S
#: One step of a drive's account of its life.
_STEP_PCT = 1.0
#: A wider interval than this is a figure for nobody: less than so much life used says only how long at least.
_USED_PCT_MIN = 1.0
#: Beyond this nobody asks, and no drive was tried.
YEARS_MAX = 100.0


@dataclass(frozen=True)
class Rate:
    """How fast a drive is written."""

    host_bytes_per_s: float | None
    #: Where the drive tells.
    nand_bytes_per_s: float | None = None
    #: Whether it is the mean over all hours that the drive was on.
    of_hours: bool = False
    #: Over which time it is a mean, in words: `over the last 30 days`.
    over: str = ""


@dataclass(frozen=True)
class Life:
    """What is left, in years of such use."""

    #: None: nothing limits it, or no limit can be seen; then only `low` may be known.
    years: float | None
    low: float | None
    high: float | None
    #: Seconds since 1970 at which it ends.
    ends_at_s: float | None
    rate: Rate
    #: What it rests on, in words.
    basis: str


def rate_of_history(reading: Reading, before: Sequence[Entry]) -> Rate | None:
    """The rate of the last month, or of as much of it as the history has; None for less than a day."""
    inside = [entry for entry in before if WINDOW_MIN_S <= reading.at_s - entry.at_s <= WINDOW_S]
    if not inside:
        # Nothing of the last month: the newest that is older is the mean over a longer time.
        inside = [entry for entry in before if reading.at_s - entry.at_s > WINDOW_S][-1:]
    first = next((entry for entry in inside if entry.host_written_bytes is not None), None)
    if first is None or first.host_written_bytes is None or reading.gauges.host_written_bytes is None:
        return None
    seconds = reading.at_s - first.at_s
    return Rate(
        host_bytes_per_s=(reading.gauges.host_written_bytes - first.host_written_bytes) / seconds,
        nand_bytes_per_s=_per_s(reading.gauges.nand_written_bytes, first.nand_written_bytes, seconds),
        over=f"over the last {seconds / DAY_S:.0f} days" if seconds >= 2 * DAY_S else "over the last day",
    )


def _per_s(now: float | None, before: float | None, seconds: float) -> float | None:
    return None if now is None or before is None or now < before else (now - before) / seconds


def rate_of_life(gauges: Gauges) -> Rate | None:
    """The mean over all hours that the drive was on."""
    hours = gauges.power_on_hours
    if not hours:
        return None
    seconds = hours * _HOUR_S
    return Rate(
        host_bytes_per_s=None if gauges.host_written_bytes is None else gauges.host_written_bytes / seconds,
        nand_bytes_per_s=None if gauges.nand_written_bytes is None else gauges.nand_written_bytes / seconds,
        of_hours=True,
        over=f"over its {hours:,.0f} hours of use",
    )


def life_at(gauges: Gauges, rate: Rate, now_s: float) -> Life | None:
    """What is left at a rate of writing; None where the drive does not tell enough.

    The rated life so far took so many bytes: of flash where the drive counts them, else of the host, whose writes are
    then taken to be amplified in future as they were in the past.
    """
    used = gauges.used_pct
    if used is None:
        return None
    if used >= 100:
        return Life(0.0, 0.0, 0.0, now_s, rate, "the rated life is used up")
    growth_per_s, basis = _growth(gauges, rate)
    if growth_per_s is None:
        return None
    if growth_per_s <= 0:
        return Life(None, None, None, None, rate, f"nothing was written {rate.over}".rstrip())
    # The account may be about to step up, or may have just done so.
    worst, best = _years(used + _STEP_PCT, growth_per_s), _years(used - _STEP_PCT, growth_per_s)
    if used < _USED_PCT_MIN:
        return Life(None, worst, None, None, rate, f"less than 1 % of the rated life is used; {basis}")
    years = _years(used, growth_per_s)
    ends_at_s = None if years is None else now_s + years * YEAR_S
    return Life(years, worst, best, ends_at_s, rate, basis)


def _years(used: float, growth_per_s: float) -> float | None:
    """Years until 100 %, where `used` took what was written so far, and a share of that is written each second."""
    return max(0.0, 100 - used) / (used * growth_per_s) / YEAR_S if used > 0 else None


def _growth(gauges: Gauges, rate: Rate) -> tuple[float | None, str]:
    """How much of all that was written so far is written each second, and what that rests on."""
    if rate.nand_bytes_per_s is not None and gauges.nand_written_bytes:
        return rate.nand_bytes_per_s / gauges.nand_written_bytes, "from what was written to its flash"
    if rate.host_bytes_per_s is not None and gauges.host_written_bytes:
        share = rate.host_bytes_per_s / gauges.host_written_bytes
        return share, "from what the host wrote, amplified in future as in the past"
    if rate.of_hours and gauges.power_on_hours:
        return 1 / (gauges.power_on_hours * _HOUR_S), "from the life used in its hours of use"
    return None, ""


def life_by_rating(gauges: Gauges, rate: Rate, rated_bytes: float, now_s: float) -> Life | None:
    """What is left of the bytes that a maker allows the host to write (terabytes written, or drive writes a day)."""
    written = gauges.host_written_bytes
    if written is None or rate.host_bytes_per_s is None:
        return None
    if rate.host_bytes_per_s <= 0:
        return Life(None, None, None, None, rate, f"nothing was written {rate.over}".rstrip())
    years = max(0.0, rated_bytes - written) / rate.host_bytes_per_s / YEAR_S
    return Life(years, years, years, now_s + years * YEAR_S, rate, "from the rating that was given")


def write_amplification(before: Gauges, after: Gauges) -> float | None:
    """Flash writes over host writes between two readings; None where the counters are too coarse for the time: one
    step of each must be at most a twentieth of what was counted.
    """
    host = _counted(before.host_written_bytes, after.host_written_bytes, after.host_step_bytes)
    nand = _counted(before.nand_written_bytes, after.nand_written_bytes, after.nand_step_bytes)
    return nand / host if host and nand is not None else None


def _counted(before: float | None, after: float | None, step: float | None) -> float | None:
    if before is None or after is None or after < before:
        return None
    return after - before if after - before >= 20 * (step or 0) else None


def lifetime_write_amplification(gauges: Gauges) -> float | None:
    """Over the drive's life, where it tells."""
    if gauges.nand_written_bytes and gauges.host_written_bytes:
        found = gauges.nand_written_bytes / gauges.host_written_bytes
        # Under a half, the two counters do not count the same (a drive that compresses halves at most).
        return found if found >= 0.5 else None
    return gauges.life_write_amplification
