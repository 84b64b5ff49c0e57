"""Adds the series of recordings to a run, on its clock: which recording gives a series, and which device is taken."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from flatwater.printing import counted
from flatwater.results.importers.claims import Claims, Granted
from flatwater.results.importers.clocks import Placed, Timeline, first_s
from flatwater.results.importers.imported import ImportedCell, Interval
from flatwater.results.importers.samplers import Recording
from flatwater.results.importers.settling import with_file
from flatwater.results.importers.spans import is_damage

#: Devices that are no drives: disks in memory and in files, CDs, floppies. A volume may be called `srvdata`.
_NO_DRIVE = re.compile(r"(?:loop|ram|zram|sr|scd|fd)\d+(?:p\d+)?")
#: dstat's column of all devices together.
_ALL_DEVICES = "total"
#: What tells how much a device did, the best first.
_DONE = (
    ("read_bytes_per_s", "write_bytes_per_s"),
    ("ops_per_s", "read_ops_per_s", "write_ops_per_s"),
    ("utilisation_pct",),
)
#: Programs that tell the same series, the most exact first: vmstat and dstat's text round to whole per cents.
_EXACT = ("sysstat-json", "mpstat", "iostat", "dstat", "vmstat", "dstat-text")


@dataclass
class Assembled:
    """A cell, and what became of each recording."""

    cell: ImportedCell
    taken: dict[Path, str] = field(default_factory=dict)
    left_out: dict[Path, str] = field(default_factory=dict)


@dataclass
class _Beside:
    """A recording on the clock of the run: its own series, and those of each device."""

    path: Path
    recording: Recording
    own: Placed
    devices: dict[str, Placed]

    @property
    def order(self) -> tuple[int, str, int, Path]:
        """The one that is preferred has the lowest: the most exact program, then the most samples in the run."""
        tool = self.recording.tool
        rank = _EXACT.index(tool) if tool in _EXACT else len(_EXACT)
        count = len(self.own.intervals) + max((len(one.intervals) for one in self.devices.values()), default=0)
        return rank, program_of(self.recording), -count, self.path


def program_of(recording: Recording) -> str:
    """The program whose output it is: iostat and mpstat both write sysstat's JSON."""
    return (
        f"{recording.tool} with devices" if recording.tool == "sysstat-json" and recording.devices else recording.tool
    )


def add(
    made: Assembled,
    recordings: Mapping[Path, Recording],
    timeline: Timeline,
    claims: Claims,
    named: str | None,
) -> None:
    """Adds the series of recordings to a cell, each of one recording at a time; `claims` has those of its line.

    `named`: the device of the user; None: the busiest one.
    """
    beside = sorted((_placed(timeline, path, one) for path, one in recordings.items()), key=lambda one: one.order)
    device = named.removeprefix("/dev/") if named is not None else _busiest(beside)
    known = sorted({name for one in beside for name in one.devices})
    if named is not None and device not in known:
        has = f"they have {', '.join(known[:8])}" if known else "none tells of devices"
        made.cell.warnings.append(f"--device {named}: no file of this run has it; {has}")
    assumed: dict[str, list[str]] = {}
    for one in beside:
        _take(made, one, device, claims, assumed)
    made.cell.warnings += [f"{text} ({', '.join(names)})" for text, names in assumed.items()]


def _placed(timeline: Timeline, path: Path, recording: Recording) -> _Beside:
    # A line of throughput of its own would be a second one; how many a server counted stays.
    own = [replace(one, metrics=_without_line(one.metrics)) for one in recording.samples]
    devices = {name: timeline.place(recording, samples) for name, samples in recording.devices.items()}
    return _Beside(path, recording, timeline.place(recording, own), devices)


def _without_line(metrics: dict[str, float]) -> dict[str, float]:
    own = {"workload.throughput": "database.transactions_per_s"}
    return {own.get(name, name): value for name, value in metrics.items() if name != "workload.ops_per_s"}


def _take(made: Assembled, one: _Beside, device: str | None, claims: Claims, assumed: dict[str, list[str]]) -> None:
    recording, path = one.recording, one.path
    texts: list[str] = []
    grants: list[Granted] = []
    of_device = one.devices.get(device or "")
    for placed in (one.own, of_device):
        if placed is None:
            continue
        granted = claims.grant(path, program_of(recording), placed.intervals)
        grants.append(granted)
        made.cell.others += granted.intervals
        if granted.intervals:
            # A device may lack a sample that the processors have: where a report was cut off.
            own = f" ({device})" if texts else ""
            texts += [f"{text}{own}" for text in placed.told if text not in texts]
        if granted.intervals and placed.forward:
            warning = f"{path.name}: {placed.forward}"
            made.cell.warnings += [warning] if warning not in made.cell.warnings else []
        if granted.intervals and placed.assumed:
            names = assumed.setdefault(placed.assumed, [])
            names += [path.name] if path.name not in names else []
    if of_device is not None and texts:
        others = len(recording.devices) - 1
        texts.append(f"storage is {device}" + (f" (of {others + 1}: --device takes another)" if others else ""))
    if recording.devices and of_device is None and texts:
        texts.append(_without_device(recording, device))
    reasons = _reasons(made.cell, path, program_of(recording), grants)
    if texts:
        made.taken[path] = "; ".join([*texts, *reasons, *recording.notes])
        damage = with_file([note for note in recording.notes if is_damage(note)], path.name)
        made.cell.warnings += [text for text in damage if text not in made.cell.warnings]
    elif path not in made.taken:
        if not reasons and recording.devices and of_device is None:
            reasons = [_without_device(recording, device)]
        made.left_out[path] = "; ".join(reasons) or _outside(recording)


def _reasons(cell: ImportedCell, path: Path, program: str, grants: list[Granted]) -> list[str]:
    """Why series of a recording are not taken of it. Two recordings at the same time are a warning of the cell."""
    exact: dict[str, set[str]] = {}
    same: dict[Path, set[str]] = {}
    for granted in grants:
        for name, series in granted.more_exact.items():
            exact.setdefault(name, set()).update(series)
        for other, series in granted.same_time.items():
            same.setdefault(other, set()).update(series)
    found = [f"{len(series)} series are taken of {name}" for name, series in sorted(exact.items())]
    for other, series in sorted(same.items()):
        found.append(
            f"{len(series)} series are taken of {other.name}, which is of {program}, too, and sampled at the same time"
        )
        cell.warnings.append(
            f"two recordings of {program} at the same time: {other.name} is taken, and {path.name} is not. "
            "Import without the one that is not of this run"
        )
    if joint := max((granted.joint for granted in grants), default=0):
        found.append(f"{counted(joint, 'sample')} that another part has, too, {'is' if joint == 1 else 'are'} left out")
    return found


def _outside(recording: Recording) -> str:
    """Why none of its samples lie in the run, with the note about its dates if they may be read in two ways."""
    if recording.clock == "none" and recording.times:
        begin_s, end_s = first_s(recording), recording.times[-1]
        return f"its seconds ({begin_s:,.0f} to {end_s:,.0f}) do not lie in the run, which begins at 0"
    text = "its times do not lie in the run"
    if recording.day_first is None:
        return f"{text}: give their zone with --timezone if that is why"
    return "; ".join([text, *(note for note in recording.notes if "its dates" in note)])


def _without_device(recording: Recording, device: str | None) -> str:
    return f"has no {device}: it has {', '.join(sorted(recording.devices)[:8])}"


def _busiest(beside: list[_Beside]) -> str | None:
    """The device that did most during the run, in all parts of the recordings together.

    Most bytes, or requests where no device has bytes (`iostat -s`), or else the time in which it was busy.
    """
    names = sorted({name for one in beside for name in one.devices})
    drives = [name for name in names if not _NO_DRIVE.fullmatch(name) and name != _ALL_DEVICES]
    for measure in _DONE:
        claims = Claims()
        done: dict[str, float] = {}
        for one in beside:
            for name in drives:
                if (placed := one.devices.get(name)) is None:
                    continue
                # Each device counts as a series: what two recordings have of the same time counts once.
                parts = [replace(part, metrics={name: _done(part, measure)}) for part in placed.intervals]
                granted = claims.grant(one.path, program_of(one.recording), parts)
                done[name] = done.get(name, 0.0) + sum(part.metrics[name] for part in granted.intervals)
        if any(done.values()):
            return max(done, key=lambda name: done[name])
    return next(iter(drives or names), None)


def _done(interval: Interval, measure: Sequence[str]) -> float:
    rates = [interval.metrics.get(f"storage.{name}", 0.0) for name in measure]
    return sum(rates) * (interval.end_s - interval.start_s)


def busiest_of(recording: Recording) -> str | None:
    """The device of one recording that read and wrote most. Without a run, that is the line."""
    length_s = recording.times[-1] if recording.times else 0.0
    timeline = Timeline(length_s, 0.0, 0.0, "")
    return _busiest([_placed(timeline, Path(), recording)])
