"""`mysqladmin extended-status -i N`, with `-r` or without: a table of all counters for each reading.

Readings have no times. Their distance is the difference of Uptime.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median

from flatwater.errors import UserError
from flatwater.results.importers.samplers.sampler import Broken, Recording, clean_lines
from flatwater.results.importers.samplers.status import (
    ABSOLUTE,
    COMMITS,
    COUNTS,
    KNOWN,
    RATES,
    STATEMENTS,
    Reading,
    evened_readings,
    status_samples,
)
from flatwater.results.importers.spans import damage_note, damaged, usual_interval

NAME = "mysqladmin"
_HEADING = re.compile(r"\|\s*Variable_name\s*\|\s*Value\s*\|")
#: Some values are sentences: Buffer pool(s) load completed at 261129 21:33:02.
_ROW = re.compile(r"\|\s*([A-Za-z_0-9]{1,80})\s*\|([^|]*)\|?")

#: It never changes, so its difference is 0: it tells a table of differences from one of counters. Servers since 5.0
#: have it, but scripts that pick some counters may not.
_CONSTANT = "innodb_page_size"
#: Intervals of one run differ by no more than this share, or by a second.
_UNEVEN = 0.1
#: Of differences, half are lower than the one before; of counters, only those behind a restart.
_FALLS = 0.25
#: Counters that fall so often fell by no restart, even where the first reading is lower than the differences.
_FALLS_MIN = 3
#: A first reading of a run that was appended is so many times higher than a difference.
_ABSOLUTE_TIMES = 4.0


def recognises(path: Path, head: str) -> bool:
    """Whether it has the heading of mysqladmin's tables, and a counter that every server has."""
    del path
    return _HEADING.search(head) is not None and re.search(r"\|\s*(Uptime|Aborted_clients)\b", head) is not None


@dataclass
class _Table:
    """One reading: the line of its heading, and its counters."""

    line: int
    figures: dict[str, float] = field(default_factory=dict)


def read(path: Path) -> Recording:
    """The samples of a file. Errors: UserError."""
    found: list[_Table] = []
    broken = Broken()
    for number, line in clean_lines(path):
        if _HEADING.search(line):
            found.append(_Table(number))
            continue
        if not found or not line.startswith("|"):
            continue
        row = _ROW.fullmatch(line.strip())
        if row is None:
            broken.add(number)
        elif (name := row[1].lower()) in KNOWN or name == _CONSTANT:
            if (value := broken.whole(row[2].strip())) is not None:
                found[-1].figures[name] = value
                # Damage to a time is told with its line.
                found[-1].line = number if name == "uptime" else found[-1].line
            elif row[2].strip():
                broken.add(number)
    notes = broken.notes()
    if len(found) > 1 and len(found[-1].figures) < len(found[0].figures):
        found.pop()
        notes.append("the last table is cut off, and left out")
    found = _believed(_with_uptime(found, notes), notes)
    if len(found) < 2:
        raise UserError("one reading only: rates take two", where=f"{path}:1", hint="mysqladmin ext -i 1")
    tables = [table.figures for table in found]
    if _is_relative(tables):
        tables = _summed(tables)
        notes.append("differences (-r): counted together")
    readings = _timed(tables, [table.line for table in found], notes)
    samples, unit = status_samples(readings, notes)
    times = [reading.at_s for reading in readings]
    if all("uptime" in table for table in tables):
        return Recording(NAME, "none", samples, usual_interval(times), unit=unit, notes=notes)
    return Recording(NAME, "none", samples, unit=unit, notes=notes, counts=COUNTS)


def _with_uptime(found: list[_Table], notes: list[str]) -> list[_Table]:
    """Without the few tables that have no Uptime: it is not known when they were read."""
    having = [table for table in found if "uptime" in table.figures]
    if 2 * len(having) <= len(found) or len(having) == len(found):
        return found
    first = next(table for table in found if "uptime" not in table.figures)
    many = "table has" if len(found) - len(having) == 1 else "tables have"
    notes.append(f"{len(found) - len(having)} {many} no Uptime, and left out, the first in line {first.line}")
    return having


def _believed(found: list[_Table], notes: list[str]) -> list[_Table]:
    """The tables without those whose Uptime is damaged; these are told."""
    if not all("uptime" in table.figures for table in found):
        return found
    uptimes = [table.figures["uptime"] for table in found]
    tables = [table.figures for table in found]
    if _is_relative(tables):
        # The first is the Uptime itself, and the others are distances, but for the first of a run that was appended.
        wrong = [place + 1 for place in damaged(uptimes[1:], median(uptimes[1:]))]
        again = _restarts(uptimes)
        wrong = [place for place in wrong if place not in again and not _is_absolute(tables[place], tables[0])]
    else:
        wrong = _without_restarts(uptimes, damaged(uptimes))
    if not wrong:
        return found
    notes.append(damage_note(uptimes, [table.line for table in found], wrong))
    return [table for place, table in enumerate(found) if place not in set(wrong)]


def _restarts(uptimes: list[float]) -> set[int]:
    """The differences with which the server's Uptime falls to one that is possible: it was restarted."""
    found: set[int] = set()
    uptime = uptimes[0]
    for place, difference in enumerate(uptimes[1:], 1):
        if difference < 0 <= uptime + difference:
            found.add(place)
        uptime += difference
    return found


def _is_absolute(table: dict[str, float], first: dict[str, float]) -> bool:
    """Whether a table has no differences, as the first one: most of its counters are no lower."""
    if _CONSTANT in table:
        return table[_CONSTANT] > 0
    common = [name for name in (*RATES, *COMMITS, STATEMENTS) if first.get(name, 0.0) > 0 and name in table]
    return 2 * sum(table[name] >= first[name] for name in common) >= len(common)


def _without_restarts(uptimes: list[float], wrong: list[int]) -> list[int]:
    """The damaged places without the first ones and the last ones where Uptime only fell: the server was restarted."""
    gone = set(wrong)
    kept = [place for place in range(len(uptimes)) if place not in gone]
    if uptimes[0] > uptimes[kept[0]]:
        gone -= set(range(kept[0]))
    if uptimes[-1] < uptimes[kept[-1]]:
        gone -= set(range(kept[-1], len(uptimes)))
    return sorted(gone)


def _is_relative(tables: list[dict[str, float]]) -> bool:
    """Whether the tables after the first have differences: Uptime is then the interval, again and again.

    After a restart, Uptime is small, too, but then it grows with each reading.
    """
    constants = [table[_CONSTANT] for table in tables[1:] if _CONSTANT in table]
    if constants:
        return 0 in constants
    uptimes = [table["uptime"] for table in tables if "uptime" in table]
    if not uptimes:
        return _fall_again(tables)
    if len(uptimes) < max(2, len(tables)):
        return False
    later = uptimes[1:]
    if uptimes[1] >= uptimes[0]:
        # A server that just started: its own Uptime is shorter than an interval, which comes again and again.
        return 2 * sum(now <= then for then, now in pairwise(later)) > max(1, len(later) - 1)
    if len(later) > 1 and all(now > then for then, now in pairwise(later)):
        return False
    usual = median(later)
    return sum(abs(uptime - usual) <= max(1.0, usual * _UNEVEN) for uptime in later) * 2 > len(later)


def _fall_again(tables: list[dict[str, float]]) -> bool:
    """Whether a counter does not grow behind the first table: it tells differences where Uptime cannot.

    A server that was restarted counts on: each reading is a statement itself. One that just started has counted less
    before the first table than in an interval, so that table may be the lowest.
    """
    name = _counter_of(tables)
    if name is None or len(tables) < 3:
        return False
    pairs = list(pairwise(table[name] for table in tables[1:]))
    falls = sum(now <= then for then, now in pairs)
    return falls > _FALLS * len(pairs) and (tables[1][name] < tables[0][name] or falls >= _FALLS_MIN)


def _counter_of(tables: list[dict[str, float]]) -> str | None:
    """The counter of statements that all tables have."""
    return next((one for one in (STATEMENTS, "queries", *COMMITS) if all(one in table for table in tables)), None)


def _summed(tables: list[dict[str, float]]) -> list[dict[str, float]]:
    """Absolute readings from differences. Gauges are differences, too, so their sums are the gauges again.

    Where a second run was appended, its first table is absolute again: its size of a page is not 0. Without that, its
    Uptime (or its statements) is more than all before together, and much more than a difference. Behind a difference
    that is missing, a gauge is not known until then; of a counter, the differences are enough.
    """
    found = [dict(tables[0])]
    has_uptime = all("uptime" in table for table in tables)
    statements = _counter_of(tables)
    name = "uptime" if has_uptime else statements
    usual = median(table[name] for table in tables[1:]) if name is not None else 0.0
    for table in tables[1:]:
        last = found[-1]
        is_high = name is None or table[name] > _ABSOLUTE_TIMES * usual
        # A difference over a stall may be longer than a young server's Uptime, but it has few statements.
        has_as_many = statements is None or table[statements] >= last[statements]
        is_more = name is not None and table[name] > last[name] and has_as_many
        looks_absolute = is_high and (is_more or (not has_uptime and _is_absolute(table, tables[0])))
        if _is_absolute(table, tables[0]) if _CONSTANT in table else looks_absolute:
            found.append(dict(table))
        else:
            known = [one for one in table if one in last or one not in ABSOLUTE]
            found.append({one: last.get(one, 0.0) + table[one] for one in known})
    return found


def _timed(tables: list[dict[str, float]], lines: list[int], notes: list[str]) -> list[Reading]:
    """The readings with their moments, in seconds since the first; intervals of 1 where Uptime is missing."""
    if not all("uptime" in table for table in tables):
        return [Reading(float(number), table, lines[number]) for number, table in enumerate(tables)]
    distances = [now["uptime"] - then["uptime"] for then, now in pairwise(tables)]
    usual = sorted(distance for distance in distances if distance > 0)
    step_s = usual[len(usual) // 2] if usual else 1.0

    def placed(same_s: float) -> list[Reading]:
        at_s = 0.0
        found = [Reading(0.0, tables[0], lines[0])]
        for table, line, distance in zip(tables[1:], lines[1:], distances, strict=True):
            # A server that was restarted counts from 0 again; the reading came an interval later, or somewhat more.
            at_s += distance if distance > 0 else same_s if distance == 0 else step_s
            found.append(Reading(at_s, table, line))
        return found

    # Two readings in one second are followed by a second without any.
    told: list[str] = []
    readings = evened_readings(placed(0.0), told)
    notes += told
    return readings if told or 0 not in distances else placed(step_s)
