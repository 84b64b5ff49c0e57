"""`mysqladmin extended-status -i N`, with `-r` or without: a table of all counters for each reading.

Readings have no times. Their distance is the difference of Uptime.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from statistics import median

from flatwater.errors import UserError
from flatwater.results.importers.samplers.sampler import Broken, Recording, clean_lines, number_of, usual_interval
from flatwater.results.importers.samplers.status import KNOWN, Reading, status_samples

NAME = "mysqladmin"
_HEADING = re.compile(r"\|\s*Variable_name\s*\|\s*Value\s*\|")
_ROW = re.compile(r"\|\s*([A-Za-z_0-9]{1,80})\s*\|\s*(\S*)\s*\|?\s*")

#: Intervals of one run differ by no more than this share, or by a second.
_UNEVEN = 0.1


def recognises(path: Path, head: str) -> bool:
    """Whether it has the heading of mysqladmin's tables, and a counter that every server has."""
    del path
    return _HEADING.search(head) is not None and re.search(r"\|\s*(Uptime|Aborted_clients)\b", head) is not None


def read(path: Path) -> Recording:
    """The samples of a file. Errors: UserError."""
    tables: list[dict[str, float]] = []
    broken = Broken()
    for number, line in clean_lines(path):
        if _HEADING.search(line):
            tables.append({})
            continue
        if not tables or not line.startswith("|"):
            continue
        row = _ROW.fullmatch(line.strip())
        if row is None:
            broken.add(number)
        elif (name := row[1].lower()) in KNOWN:
            if (value := number_of(row[2])) is not None:
                tables[-1][name] = value
            elif row[2]:
                broken.add(number)
    notes = broken.notes()
    if len(tables) > 1 and len(tables[-1]) < len(tables[0]):
        tables.pop()
        notes.append("the last table is cut off, and left out")
    if len(tables) < 2:
        raise UserError("one reading only: rates take two", where=f"{path}:1", hint="mysqladmin ext -i 1")
    if _is_relative(tables):
        tables = _summed(tables)
        notes.append("differences (-r): counted together")
    readings = _timed(tables)
    samples, unit = status_samples(readings, notes)
    times = [at_s for at_s, _ in readings]
    interval_s = usual_interval(times) if "uptime" in tables[0] else None
    return Recording(NAME, "none", samples, interval_s, unit=unit, notes=notes)


def _is_relative(tables: list[dict[str, float]]) -> bool:
    """Whether the tables after the first have differences: Uptime is then the interval, again and again.

    After a restart, Uptime is small, too, but then it grows with each reading.
    """
    uptimes = [table["uptime"] for table in tables if "uptime" in table]
    if len(uptimes) < max(2, len(tables)) or uptimes[1] >= uptimes[0]:
        return False
    later = uptimes[1:]
    if len(later) > 1 and all(now > then for then, now in pairwise(later)):
        return False
    usual = median(later)
    return sum(abs(uptime - usual) <= max(1.0, usual * _UNEVEN) for uptime in later) * 2 > len(later)


def _summed(tables: list[dict[str, float]]) -> list[dict[str, float]]:
    """Absolute readings from differences. Gauges are differences, too, so their sums are the gauges again.

    Where a second run was appended, its first table is absolute again: its Uptime is longer than all before together.
    """
    found = [dict(tables[0])]
    for table in tables[1:]:
        last = found[-1]
        if table["uptime"] > last["uptime"]:
            found.append(dict(table))
        else:
            found.append({name: last.get(name, 0.0) + value for name, value in table.items()})
    return found


def _timed(tables: list[dict[str, float]]) -> list[Reading]:
    """The readings with their moments, in seconds since the first; intervals of 1 where Uptime is missing."""
    if not all("uptime" in table for table in tables):
        return [(float(number), table) for number, table in enumerate(tables)]
    at_s = 0.0
    found: list[Reading] = [(0.0, tables[0])]
    distances = [now["uptime"] - then["uptime"] for then, now in pairwise(tables)]
    usual = sorted(distance for distance in distances if distance > 0)
    step_s = usual[len(usual) // 2] if usual else 1.0
    for table, distance in zip(tables[1:], distances, strict=True):
        # A server that was restarted counts from 0 again; the reading came an interval later, or somewhat more.
        at_s += distance if distance > 0 else step_s
        found.append((at_s, table))
    return found
