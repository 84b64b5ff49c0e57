"""Dates that a file does not tell in full: the order of day and month, the year, the day. Other files tell them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from pathlib import Path

from flatwater.results.importers.clocks import first_s
from flatwater.results.importers.imported import ImportedCell
from flatwater.results.importers.samplers import Recording, Sample
from flatwater.results.importers.spans import is_damage, usual_interval

_DAY_S = 86400.0
#: Of two readings, one that leaves rows out is taken only if the other is so much longer.
_DAMAGED_TIMES = 1e6
_NO_YEAR = "its times have no year: taken for the one that is nearest to the files beside it"
_NO_DAY = "its times have no day: taken for the one that is nearest to the files beside it"


def settled(recordings: Mapping[Path, Recording], cell: ImportedCell | None) -> dict[Path, Recording]:
    """The recordings, and the start of the run, with the dates that agree with the files beside them."""
    known = [first_s(one) for one in recordings.values() if one.clock != "none" and _is_certain(one)]
    run = [cell.began[0]] if cell is not None and cell.began is not None and cell.has_year else []
    known += run
    found = {path: _with_order(one, known) for path, one in recordings.items()}
    known += [first_s(one) for path, one in found.items() if recordings[path].day_first is not None and one.times]
    # A recording may have begun days before the run.
    found = {path: _with_day(_with_year(one, known), run or known) for path, one in found.items()}
    if cell is not None and cell.began is not None and not cell.has_year:
        years = _years_to(cell.began[0], known)
        cell.began = _moved(cell.began[0], years), cell.began[1]
        if years:
            cell.warnings.append(_NO_YEAR)
    return found


def settled_by(recording: Recording, known: Sequence[float]) -> Recording:
    """The recording with the dates that are nearest to moments that are known."""
    return _with_day(_with_year(_with_order(recording, known), known), known)


def _is_certain(recording: Recording) -> bool:
    return recording.day_first is None and recording.has_year and recording.has_day and bool(recording.times)


def _with_order(recording: Recording, known: Sequence[float]) -> Recording:
    """The reading of dates that lies nearest to the files beside it; alone, the one that is shorter."""
    other = recording.day_first
    if other is None:
        return recording
    ways = {"month/day": recording, "day/month": other}

    def distance(name: str) -> float:
        one = ways[name]
        if not known:
            # In the wrong order, a few rows behind midnight lie so far away that they seem damaged.
            return (one.times[-1] - one.times[0]) * (_DAMAGED_TIMES if any(map(is_damage, one.notes)) else 1.0)
        return min(abs(first_s(one) - begin) for begin in known)

    best = min(ways, key=distance)
    if known:
        why = (
            "which is nearer to the files beside it" if distance(best) < _DAY_S else "but both are far from the others"
        )
    else:
        apart = distance("month/day") != distance("day/month")
        why = "which makes it shorter" if apart else "for nothing tells which"
    chosen = replace(ways[best], day_first=other)
    chosen.notes = [*chosen.notes, f"its dates can be month/day or day/month: read as {best}, {why}"]
    return chosen


def _with_year(recording: Recording, known: Sequence[float]) -> Recording:
    if recording.has_year or not recording.times or not (years := _years_to(first_s(recording), known)):
        return recording
    return _at_other_times(recording, lambda at_s: _moved(at_s, years), _NO_YEAR)


def _with_day(recording: Recording, known: Sequence[float]) -> Recording:
    """The times of an untold day, on the day nearest to the files beside it; alone, from their beginning on."""
    if recording.has_day or not recording.times:
        return recording
    first = first_s(recording)
    if known:
        days_s = _DAY_S * round((min(known) - first) / _DAY_S)
        return _at_other_times(recording, lambda at_s: at_s + days_s, _NO_DAY)
    counted = replace(recording, clock="none", interval_s=usual_interval(recording.times) or 1.0)
    return _at_other_times(counted, lambda at_s: at_s - first, "its times have no day: only their differences count")


def _at_other_times(recording: Recording, moved: Callable[[float], float], note: str) -> Recording:
    def all_of(samples: list[Sample]) -> list[Sample]:
        return [replace(one, at_s=moved(one.at_s)) for one in samples]

    devices = {name: all_of(samples) for name, samples in recording.devices.items()}
    return replace(recording, samples=all_of(recording.samples), devices=devices, told=[*recording.told, note])


def _years_to(at_s: float, known: Sequence[float]) -> int:
    """How many years later a moment is nearest to those that are known; 0 if none is."""
    if not known:
        return 0
    begin = min(known)
    years = round((begin - at_s) / (365.25 * _DAY_S))
    return min((years - 1, years, years + 1), key=lambda count: abs(_moved(at_s, count) - begin))


def _moved(at_s: float, years: int) -> float:
    """A moment some years later. 29 February is 1 March where there is none."""
    moment = datetime.fromtimestamp(at_s, UTC)
    year = min(max(moment.year + years, MINYEAR), MAXYEAR)
    try:
        return moment.replace(year=year).timestamp()
    except ValueError:
        return moment.replace(year=year, month=3, day=1).timestamp()
