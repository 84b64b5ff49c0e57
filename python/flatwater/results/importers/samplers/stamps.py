"""Times as programs print them: with a date or without, in several orders, with a time zone or none."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from flatwater.results.importers.samplers.sampler import Clock

_EPOCH = re.compile(r"(\d{10})(\.\d{1,20})?|(\d{13})")
#: Month and day, as sysstat prints them in most languages, or the other way round: see day_orders.py.
_SLASHES = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})")
_DOTS = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4}|\d{2})\.?")
_DASHES = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_TIME = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d{1,9}))?(?:\s*([AaPp])\.?\s?[Mm]\.?)?")
#: As `date` and Tcl's clock print: Fri Sep 28 14:11:20 BST 2018.
_UNIX = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) (\S{1,6}) (\d{4})")
#: As dstat and dool print: 31-12 14:10:38, Dec-31 14:10:38.
_DAY_MONTH = re.compile(r"(\d{2})-(\d{2}) (\d{2}:\d{2}:\d{2})")
_MONTH_DAY = re.compile(r"([A-Z][a-z]{2})-(\d{2}) (\d{2}:\d{2}:\d{2})")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
#: The year of times without one, until it is known: a leap year, for 29 February.
NO_YEAR = 1972
#: Names of zones that mean no other one.
_UTC_NAMES = ("UTC", "GMT", "Z")
#: Every time zone is a multiple of this off UTC, and none is further to the west or to the east.
_ZONE_STEP_S, _ZONE_WEST_S, _ZONE_EAST_S = 900.0, 12 * 3600.0, 14 * 3600.0
_DAY_S = 86400.0
#: A day and month without a year that come this long before the last ones are of the next year.
_HALF_YEAR_S = 183 * _DAY_S


def read_stamp(text: str, day_first: bool = False) -> tuple[float, Clock] | None:
    """Seconds since 1970, and whether the zone was told; None if it is no time with a date.

    `day_first`: the order in dates with slashes.
    """
    text = text.strip()
    if match := _EPOCH.fullmatch(text):
        return (int(match[3]) / 1000 if match[3] else float(text)), "epoch"
    if match := _UNIX.fullmatch(text):
        return _unix(match)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return _date_and_time(text, day_first)
    return _seconds(moment), "local" if moment.tzinfo is None else "epoch"


def _unix(match: re.Match[str]) -> tuple[float, Clock] | None:
    if match[1] not in _MONTHS:
        return None
    try:
        day, hour, minute, second = (int(match[number]) for number in (2, 3, 4, 5))
        moment = datetime(int(match[7]), _MONTHS.index(match[1]) + 1, day, hour, minute, second)
    except ValueError:
        return None
    return _seconds(moment), "epoch" if match[6] in _UTC_NAMES else "local"


def _date_and_time(text: str, day_first: bool) -> tuple[float, Clock] | None:
    date, _, time = text.partition(" ")
    day, second = read_date(date, day_first), read_time(time)
    return None if day is None or second is None else (day + second, "local")


def read_date(text: str, day_first: bool = False) -> float | None:
    """Midnight of a day, in seconds since 1970: 03/13/2026, 13/03/26, 13.03.2026, 2026-03-13."""
    if match := _DASHES.fullmatch(text):
        year, month, day = (int(part) for part in match.groups())
    elif match := _SLASHES.fullmatch(text):
        month, day, year = (int(part) for part in match.groups())
        month, day = (day, month) if month > 12 or (day_first and day <= 12) else (month, day)
    elif match := _DOTS.fullmatch(text):
        day, month, year = (int(part) for part in match.groups())
    else:
        return None
    try:
        return _seconds(datetime(year + 2000 if year < 100 else year, month, day))
    except ValueError:
        return None


def read_time(text: str) -> float | None:
    """Seconds since midnight: 22:15:01, 10:15:01 PM."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    hour, minute, second = (int(match[number]) for number in (1, 2, 3))
    if match[5]:
        hour = hour % 12 + (12 if match[5] in "Pp" else 0)
    if hour > 24 or minute > 59 or second > 60:
        return None
    return hour * 3600.0 + minute * 60.0 + second + float(f"0.{match[4] or 0}")


def read_month_day(month: str, day: str, time: str) -> float | None:
    """Seconds since 1970 of a time without a year, in NO_YEAR: Mar, 13, 22:15:01. None if it is none."""
    second = read_time(time)
    if month not in _MONTHS or second is None:
        return None
    try:
        return _seconds(datetime(NO_YEAR, _MONTHS.index(month) + 1, int(day))) + second
    except ValueError:
        return None


class _Turns:
    """Counts how often times that begin again did so: at midnight, at the end of the year.

    One time that is damaged, and lies far from those before and behind it, makes no turn.
    """

    def __init__(self, half_s: float) -> None:
        """`half_s`: a time that is so much lower than the last one belongs to the next turn."""
        self._half_s = half_s
        self._count = 0
        self._times: list[float] = []
        self._turned = False

    def at(self, second: float) -> int:
        """The turn that a time belongs to; the first is 0."""
        earlier, last = (
            self._times[0] if len(self._times) > 1 else second + 1,
            self._times[-1] if self._times else second,
        )
        goes_on = earlier <= second
        if last - second > self._half_s:
            self._turned = not (goes_on and last - earlier > self._half_s)
            self._count += self._turned
        else:
            if self._turned and goes_on and second - last > self._half_s:
                self._count -= 1
            self._turned = False
        self._times = [*self._times[-1:], second]
        return self._count


class DayClock:
    """Times of the day: past midnight, the next day begins."""

    def __init__(self, day_s: float) -> None:
        """`day_s`: midnight before the first time, seconds since 1970."""
        self._day_s = day_s
        self._turns = _Turns(_DAY_S / 2)

    def at(self, second: float) -> float:
        """The moment of a time of the day."""
        return self._day_s + self._turns.at(second) * _DAY_S + second


class YearClock:
    """Days and months without a year: after December, the next year begins."""

    def __init__(self, year: int) -> None:
        self._year = year
        self._turns = _Turns(_HALF_YEAR_S)

    def at(self, text: str) -> float | None:
        """The moment of a text like `31-12 14:10:38` or `Dec-31 14:10:38`; None if it is none."""
        if match := _DAY_MONTH.fullmatch(text.strip()):
            day, month, time = int(match[1]), int(match[2]), match[3]
        elif (match := _MONTH_DAY.fullmatch(text.strip())) and match[1] in _MONTHS:
            day, month, time = int(match[2]), _MONTHS.index(match[1]) + 1, match[3]
        else:
            return None
        second = read_time(time)
        try:
            of_year = _seconds(datetime(NO_YEAR, month, day)) - _seconds(datetime(NO_YEAR, 1, 1))
            moment = _seconds(datetime(self._year + self._turns.at(of_year), month, day))
        except ValueError:
            return None
        return None if second is None else moment + second


def zone_offset_s(text: str) -> float | None:
    """The offset of a time zone like `+02:00`, `-0530` or `UTC`, in seconds; None if it is none."""
    if text in _UTC_NAMES:
        return 0.0
    match = re.fullmatch(r"([+-])(\d{1,2}):?(\d{2})?", text)
    if match is None or int(match[3] or 0) > 59:
        return None
    offset_s = (1 if match[1] == "+" else -1) * (int(match[2]) * 3600.0 + int(match[3] or 0) * 60.0)
    return offset_s if offset_s % _ZONE_STEP_S == 0 and -_ZONE_WEST_S <= offset_s <= _ZONE_EAST_S else None


def is_utc(name: str) -> bool:
    """Whether the name of a zone is that of UTC."""
    return name in _UTC_NAMES


def _seconds(moment: datetime) -> float:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)
