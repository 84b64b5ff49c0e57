"""A CSV with a time and a server's counters in each row, as many scripts of laboratories write it.

The first column is the time, or the seconds since the beginning. Columns with names of SHOW GLOBAL STATUS are taken,
and tps, qps, nopm and tpm.
"""

from __future__ import annotations

import csv
import re
from itertools import pairwise
from pathlib import Path

from flatwater.results.importers.figures import number_of
from flatwater.results.importers.imported import time_goes_back
from flatwater.results.importers.samplers.day_orders import in_either_order
from flatwater.results.importers.samplers.sampler import Broken, Clock, Recording, Sample, in_order
from flatwater.results.importers.samplers.stamps import read_stamp
from flatwater.results.importers.samplers.status import ABSOLUTE, KNOWN, Reading, evened_readings, status_samples
from flatwater.results.importers.spans import damaged, usual_interval
from flatwater.results.importers.texts import read_text

NAME = "counters"
_TIMES = ("timestamp", "time", "datetime", "date", "ts", "epoch", "unixtime")
#: Seconds since the beginning: more digits are those since 1970.
_SECONDS = re.compile(r"[0-9]{1,8}(?:\.[0-9]{1,9})?")
#: Columns that are a throughput -> its unit, the best first. Counters are better: a script's own rates count a
#: sample of two seconds twice.
_THROUGHPUTS = {"nopm": "NOPM", "notpm": "NOTPM", "tps": "tps", "tpm": "tpm", "qps": "qps"}
#: What a heading over sysbench's CSV calls the second of its ten columns; a server counts no such thing.
_THREADS = ("threads", "thds", "thd")
_SYSBENCH_COLUMNS = 10
#: A counter falls behind a restart only. A column that falls in so many intervals, and so often, has rates.
_FALLS, _FALLS_MIN = 0.1, 3


def recognises(path: Path, head: str) -> bool:
    """Whether the first line has a time and a counter that is known, and is no heading over sysbench's CSV."""
    del path
    names = _names(next(iter(head.splitlines()), ""))
    if len(names) < 2 or (len(names) == _SYSBENCH_COLUMNS and names[1] in _THREADS):
        return False
    return names[0] in _TIMES and any(name in KNOWN or name in _THROUGHPUTS for name in names[1:])


def read(path: Path) -> Recording:
    """The samples of a file. Errors: UserError."""
    return in_either_order(path, _read)


def _read(path: Path, day_first: bool) -> Recording:
    lines = read_text(path).splitlines()
    names = _names(lines[0])
    readings: list[Reading] = []
    broken, clock = Broken(), list[Clock]()
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        try:
            cells = next(csv.reader([line], delimiter=_delimiter(lines[0])), [])
        except csv.Error:
            cells = []
        stamp = _time(cells[0], day_first) if cells else None
        is_other = stamp is not None and clock[:1] not in ([], [stamp[1]])
        if stamp is None or is_other or len(cells) != len(names):
            broken.add(number, f"no such time: {cells[0][:40]!r}" if cells and stamp is None else "")
            continue
        clock.append(stamp[1])
        figures: dict[str, float] = {}
        for name, cell in zip(names[1:], cells[1:], strict=True):
            # A rate may have three decimals, but not with the comma that divides the columns.
            is_count = name in KNOWN or _delimiter(lines[0]) == ","
            value = broken.whole(cell.strip()) if is_count else number_of(cell.strip())
            if value is not None:
                figures[name] = value
            elif name in KNOWN or name in _THROUGHPUTS:
                broken.add_value(number, cell)
        readings.append(Reading(stamp[0], figures, number))
    if len(readings) < 2:
        raise broken.nothing(path, "no two rows with a time and as many columns as the heading")
    if clock[0] == "none":
        _only_grows(path, readings)
    notes = broken.notes()
    rows = in_order([Sample(at_s, dict(row), line) for at_s, row, line in readings], notes)
    if rates := _rates(rows):
        notes.append(f"{', '.join(rates)} fall again and again: rates or differences, and no counters: not taken")
        for row in rows:
            row.metrics = {name: value for name, value in row.metrics.items() if name not in rates}
    readings = evened_readings([Reading(row.at_s, row.metrics, row.line) for row in rows], notes)
    samples, unit = status_samples(readings, notes)
    own = next((name for name in _THROUGHPUTS if name in names), None)
    if own is not None and (not unit or _THROUGHPUTS[own] in ("NOPM", "NOTPM")):
        unit = _THROUGHPUTS[own]
        for sample, reading in zip(samples, readings[1:], strict=True):
            sample.metrics.pop("workload.throughput", None)
            if own in reading.figures:
                sample.metrics["workload.throughput"] = reading.figures[own]
    else:
        own = None
    taken = {*KNOWN, own} if own is not None else KNOWN
    unknown = [name for name in names[1:] if name not in taken or name in rates]
    interval_s = usual_interval([one.at_s for one in samples]) if clock[0] == "none" else None
    return Recording(NAME, clock[0], samples, interval_s, unit=unit, notes=notes, unknown=unknown)


def _rates(rows: list[Sample]) -> list[str]:
    """The columns with names of counters that fall as no counter does: a script wrote the differences itself."""
    found = []
    for name in sorted({name for row in rows for name in row.metrics if name in KNOWN and name not in ABSOLUTE}):
        pairs = list(pairwise(row.metrics[name] for row in rows if name in row.metrics))
        falls = sum(now < then for then, now in pairs)
        if falls >= _FALLS_MIN and falls > _FALLS * len(pairs):
            found.append(name)
    return found


def _only_grows(path: Path, readings: list[Reading]) -> None:
    """Errors: UserError where the seconds begin again, with another run. One time that is damaged is none of that."""
    times = [reading.at_s for reading in readings]
    gone = set(damaged(times))
    kept = [reading for place, reading in enumerate(readings) if place not in gone]
    for before, now in pairwise(kept):
        if now.at_s < before.at_s:
            raise time_goes_back(path, now.line, now.at_s)


def _time(text: str, day_first: bool) -> tuple[float, Clock] | None:
    """A time, or the seconds since the beginning; None if it is neither."""
    stamp = read_stamp(text, day_first)
    if stamp is None and _SECONDS.fullmatch(text.strip()):
        return float(text), "none"
    return stamp


def _delimiter(line: str) -> str:
    return ";" if line.count(";") > line.count(",") else ","


def _names(line: str) -> list[str]:
    return [cell.strip().strip('"').lower() for cell in line.split(_delimiter(line))]
