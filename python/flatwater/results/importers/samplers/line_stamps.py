"""A time that a program like `ts` writes before each line of another one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flatwater.results.importers.samplers.stamps import read_month_day, read_stamp, read_time

#: `ts` (Nov 28 10:45:17), `ts -s` (00:00:17), `ts '[%F %T]'`, seconds since 1970, and ISO 8601 with a zone or without.
_STAMPED = re.compile(
    r"(?P<open>\[?)(?:"
    r"(?P<full>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|[+-]\d\d:?\d\d))?|\d{10}(?:\.\d{1,20})?)"
    r"|(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<time>\d\d:\d\d:\d\d(?:\.\d{1,9})?)"
    r"|(?P<since>\d\d:\d\d:\d\d(?:\.\d{1,9})?)"
    r")(?P<close>\]?):?(?:\s(?P<line>.*))?"
)


@dataclass(frozen=True)
class LineStamp:
    """The time before a line. `at_s`: seconds since 1970; None for a time without a date."""

    at_s: float | None
    has_zone: bool = False
    #: Else it is of `stamps.NO_YEAR`.
    has_year: bool = True


def unstamped(line: str) -> tuple[LineStamp | None, str]:
    """The time before a line, if there is one, and the line without it. Its own blanks stay."""
    match = _STAMPED.fullmatch(line) if line[:1].isalnum() or line[:1] == "[" else None
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None, line
    rest = match["line"] or ""
    if match["full"]:
        found = read_stamp(match["full"].replace(" +", "+").replace(" -", "-").replace(" Z", "Z"))
        return (LineStamp(found[0], found[1] == "epoch"), rest) if found is not None else (None, line)
    if match["month"]:
        at_s = read_month_day(match["month"], match["day"], match["time"])
        return (LineStamp(at_s, has_year=False), rest) if at_s is not None else (None, line)
    return (LineStamp(None), rest) if read_time(match["since"]) is not None else (None, line)
