"""The line of a run as it can be judged. What lies too far away, stands for too long, or is missing, is told.

The judgement counts readings of one length: one that is longer stands for each interval of its time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from flatwater.errors import UserError
from flatwater.printing import counted
from flatwater.results.importers.imported import ImportedCell, Importer, Interval
from flatwater.results.importers.spans import is_damage, joined_part, length_text
from flatwater.results.long_intervals import GAP_TIMES, LONG_TIMES, edges_s

_THROUGHPUT = "workload.throughput"
#: Two hours: shorter intervals are told in seconds.
_SHORT_S = 7200.0
#: Readings of other lengths may move the mean by this share untold.
_UNEVEN_SHARE = 0.02
#: Units that count a minute.
MINUTELY = ("NOTPM", "NOPM", "tpm")


def parts_of(importer: Importer, paths: Sequence[Path]) -> list[list[Path]]:
    """The files of a format that are read together: fio numbers the logs of one job."""
    return [list(paths)] if importer.NAME == "fio-log" and paths else [[path] for path in paths]


def read_part(importer: Importer, paths: list[Path]) -> list[ImportedCell]:
    """The cells of files that are read together. Errors: UserError, those of the importer."""
    try:
        cells = importer.read(paths)
    except OSError as error:  # it was there a moment ago
        raise UserError(f"cannot read it: {error.strerror or error}", where=str(paths[0])) from None
    for cell in cells:
        cell.warnings = with_file(cell.warnings, paths[0].name)
        settle(cell, paths[0].name)
    return cells


def tell_rejected(known: Iterable[ImportedCell], paths: Sequence[Path], cells: Sequence[ImportedCell]) -> None:
    """Tells of the cells of some files which of these do not agree with a run that they are said to be of."""
    here = {path.resolve() for path in paths}
    for other in known:
        for path, why in other.rejected.items():
            for cell in cells:
                logs = cell.totals.get("logs")
                if path.resolve() in here and isinstance(logs, list) and path.name in logs:
                    cell.warnings.append(why)


def with_file(notes: Sequence[str], name: str) -> list[str]:
    """Notes of a file, those about damage with its name: behind the file itself, they are told without it."""
    return [f"{name}: {note}" if is_damage(note) else note for note in notes]


def settle(cell: ImportedCell, name: str) -> None:
    """Makes the intervals of a cell a line that can be judged. What is left out is told with its file and line."""
    if not cell.intervals:
        return
    _leave_out_parts(cell, name)
    _tell_gaps(cell, name)
    _spread_long(cell, name)
    _tell_uneven(cell, name)


def done_in(interval: Interval, unit: str) -> float:
    """What was done in an interval, in operations of its unit."""
    per_s = interval.metrics.get("workload.ops_per_s")
    if per_s is None:
        per_s = interval.metrics.get(_THROUGHPUT, 0.0) / (60 if unit in MINUTELY else 1)
    return per_s * (interval.end_s - interval.start_s)


def _leave_out_parts(cell: ImportedCell, name: str) -> None:
    intervals = cell.intervals
    first, end = joined_part([one.end_s for one in intervals])
    gone = [*intervals[:first], *intervals[end:]]
    if not gone:
        return
    cell.intervals = intervals[first:end]
    head = intervals[first]
    if first:
        # Its first reading is none of the time before it.
        gone.append(replace(head, end_s=max(head.start_s, head.end_s - cell.interval_s)))
        cell.intervals[0] = replace(head, start_s=gone[-1].end_s)
    begin_s, end_s = cell.intervals[0].start_s, cell.intervals[-1].end_s
    cell.others = [one for one in cell.others if begin_s <= one.end_s <= end_s]
    cell.operations = max(0, cell.operations - round(sum(done_in(one, cell.unit) for one in gone)))
    size = sum(one.metrics.get("workload.bytes_per_s", 0.0) * (one.end_s - one.start_s) for one in gone)
    cell.bytes = max(0, cell.bytes - round(size))
    apart_s = max(after.end_s - before.end_s for before, after in pairwise(intervals))
    count = counted(len(intervals) - len(cell.intervals), "reading")
    cell.warnings.append(
        f"{_place(name, gone[0])}: {count} left out: up to {length_text(apart_s)} lie between the readings. "
        "Cut the file there, and import the parts one by one"
    )


def _spread_long(cell: ImportedCell, name: str) -> None:
    """A long reading stands for each interval of its time: so it counts in the mean, and is drawn, as long as it was.

    sysbench prints nothing while a server stalls, and then one reading of all that time. What was done in each of its
    intervals is not known, so a line that is flat with one that hides a stall is not called flat.
    """
    found: list[Interval] = []
    long: list[Interval] = []
    for one in cell.intervals:
        length_s = one.end_s - one.start_s
        edges = edges_s(one.start_s, one.end_s, cell.interval_s)
        if len(edges) == 2:
            found.append(one)
            continue
        long += [one] if length_s > GAP_TIMES * cell.interval_s else []
        own = {key: value for key, value in one.metrics.items() if key.startswith("workload.")}
        found += [Interval(start_s, end_s, own, one.line) for start_s, end_s in pairwise(edges)]
        if beside := {key: value for key, value in one.metrics.items() if key not in own}:
            # What a server counted besides is no line: it stays one reading.
            cell.others.append(replace(one, metrics=beside))
    cell.intervals = found
    if not long:
        return
    worst = max(long, key=lambda one: one.end_s - one.start_s)
    more = f" (and {len(long) - 1} more)" if len(long) > 1 else ""
    usual = f"{cell.interval_s:g} s" if cell.interval_s < _SHORT_S else length_text(cell.interval_s)
    told = (
        f"{_place(name, worst)}: a reading of {length_text(worst.end_s - worst.start_s)}{more} among those of {usual}"
    )
    rate = worst.metrics.get(_THROUGHPUT)
    mean = f"its mean of {rate:,.4g} {cell.unit}" if rate is not None else "it"
    cell.warnings.append(f"{told}: {mean} stands for all of that time")
    cell.hidden.append(told)


def _tell_uneven(cell: ImportedCell, name: str) -> None:
    """Each reading counts alike, whatever its length. Where their time would make another mean, it is told."""
    rated = [one for one in cell.intervals if _THROUGHPUT in one.metrics]
    if len(rated) < 2:
        return
    usual_s = rated[0].end_s - rated[0].start_s
    lengths = [one.end_s - one.start_s for one in rated]
    others = (place for place, own_s in enumerate(lengths) if not 1 / LONG_TIMES < own_s / usual_s < LONG_TIMES)
    change = next(others, None)
    alike = sum(one.metrics[_THROUGHPUT] for one in rated) / len(rated)
    by_time = _mean(rated)
    if change is None or abs(alike - by_time) <= _UNEVEN_SHARE * max(alike, by_time):
        return
    cell.warnings.append(
        f"{_place(name, rated[change])}: a reading of {lengths[change]:g} s behind those of {usual_s:g} s: each counts "
        f"alike in the mean of {alike:,.4g} {cell.unit}; over their time, it is {by_time:,.4g}"
    )


def _mean(intervals: Sequence[Interval]) -> float:
    """The mean throughput over the time of intervals."""
    length_s = sum(one.end_s - one.start_s for one in intervals)
    rates = [(one.metrics.get(_THROUGHPUT, 0.0), one.end_s - one.start_s) for one in intervals]
    return sum(rate * part_s for rate, part_s in rates) / length_s if length_s else 0.0


def _tell_gaps(cell: ImportedCell, name: str) -> None:
    gaps = [(now.start_s - before.end_s, now) for before, now in pairwise(cell.intervals)]
    # A line that is left out is told where it is read: it is a gap of one interval.
    long = [(gap_s, now) for gap_s, now in gaps if gap_s > (GAP_TIMES - 1) * cell.interval_s]
    if long:
        gap_s, behind = max(long, key=lambda pair: pair[0])
        more = f" ({len(long)} gaps, the longest)" if len(long) > 1 else ""
        told = f"{_place(name, behind)}: no reading in the {length_text(gap_s)} before it{more}"
        cell.warnings.append(told)
        cell.hidden += [told] if gap_s > GAP_TIMES * cell.interval_s else []


def _place(name: str, interval: Interval) -> str:
    return f"{name}:{interval.line}" if interval.line else f"{name}, at {interval.end_s:,.0f} s"
