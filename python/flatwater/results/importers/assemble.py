"""One cell from a benchmark's run and the recordings beside it, on one clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from flatwater.printing import counted
from flatwater.results.importers.adding import Assembled, add, busiest_of, program_of
from flatwater.results.importers.agreeing import tell_difference
from flatwater.results.importers.claims import Claims
from flatwater.results.importers.clocks import Timeline, find_zone, first_s, span_of
from flatwater.results.importers.hammerdb import NO_SERIES
from flatwater.results.importers.imported import NO_LENGTH, ImportedCell, Interval, Totals
from flatwater.results.importers.samplers import Recording
from flatwater.results.importers.samplers.hammerdb_counter import NAME as COUNTER
from flatwater.results.importers.samplers.hosts import of_two_hosts
from flatwater.results.importers.samplers.status import RestartNote
from flatwater.results.importers.settling import done_in, settle, with_file
from flatwater.results.importers.spans import length_text, usual_interval
from flatwater.results.importers.texts import stem_of
from flatwater.results.long_intervals import GAP_TIMES
from flatwater.results.schema import Phase

#: A series that is longer than the test by this share of the ramp-up has that in it.
_RAMPUP_SHARE = 0.9
#: A counter is read beside the run, and its times are not those of the totals.
_COUNTER_SHARE = 0.1
#: Units of series that can make the line of a run, the best first.
_UNITS = ("NOTPM", "NOPM", "tps", "tpm", "qps")
#: HammerDB reads its counter every 10 s, unless told otherwise (tcset refreshrate). It may run on behind the test, but
#: not so many times longer.
_REFRESH_S, _LONGER = 10.0, 2.0


@dataclass(frozen=True)
class Options:
    """What the user says of the files."""

    #: The block device of the data; None: the busiest one.
    device: str | None = None
    #: The offset of times without a zone; None: see clocks.py.
    zone_s: float | None = None
    #: The interval of files that do not tell it.
    every_s: float | None = None


def assemble(cell: ImportedCell, recordings: Mapping[Path, Recording], options: Options) -> Assembled:
    """The run with the series of the recordings. A run without a series gets that of a recording, if one has it."""
    made = Assembled(cell)
    line = _line_of(recordings, options) if cell.totals_only is not None else None
    if line is not None:
        _give_line(cell, line, recordings[line], options)
        made.taken[line] = f"the line of the run, in {cell.unit}"
    _add(made, recordings, line, options)
    return made


def from_recordings(recordings: Mapping[Path, Recording], options: Options) -> Assembled | None:
    """A run from recordings alone: of a server's transactions, else of a device's requests; None without both."""
    if not recordings:
        return None
    line = _line_of(recordings, options)
    name = next(iter(recordings)).parent.name or "recorded"
    if line is not None:
        cell = ImportedCell(label=stem_of(line), unit="", intervals=[], interval_s=1.0)
        cell.layers = {"workload": "real", "database": "real"}
        _give_line(cell, line, recordings[line], options)
        what = f"the line of the run, in {cell.unit}"
    else:
        line = max((path for path in recordings if recordings[path].devices), default=None, key=_count_in(recordings))
        if line is None:
            return None
        # The same device is taken of the other recordings.
        options = replace(options, device=options.device or busiest_of(recordings[line]))
        cell = _of_device(name, line, recordings[line], options)
        what = "the line of the run: requests of its device"
    if not cell.intervals:
        return None
    cell.files = [line.name]
    made = Assembled(cell, {line: what})
    _add(made, recordings, line, options)
    made.taken[line] = what + (f"; {made.taken[line]}" if made.taken[line] != what else "")
    return made


def _add(made: Assembled, recordings: Mapping[Path, Recording], line: Path | None, options: Options) -> None:
    """Adds what was sampled beside the line of a run, which is itself a recording's if `line` is one."""
    claims = Claims()
    if line is not None:
        intervals = sorted([*made.cell.intervals, *made.cell.others], key=lambda one: one.end_s)
        claims.grant(line, program_of(recordings[line]), intervals)
    rest = {path: one for path, one in recordings.items() if path != line or one.devices}
    add(made, rest, _timeline(made.cell, rest, options), claims, options.device)
    taken = {path: one for path, one in recordings.items() if path in made.taken}
    made.cell.warnings += of_two_hosts(recordings)
    for path, one in taken.items():
        made.cell.warnings += [f"{path.name}: {text}" for text in one.told]
        made.taken[path] = "; ".join([made.taken[path], *one.told])


def _count_in(recordings: Mapping[Path, Recording]) -> Callable[[Path], int]:
    return lambda path: len(recordings[path].times)


def _line_of(recordings: Mapping[Path, Recording], options: Options) -> Path | None:
    """The recording with the best throughput. Counts of intervals that nobody tells are none."""
    having = [
        (path, one)
        for path, one in recordings.items()
        if one.unit and len(one.samples) > 1 and (options.every_s or not one.counts)
    ]
    return min(having, key=lambda pair: _UNITS.index(pair[1].unit), default=(None, None))[0]


def _give_line(cell: ImportedCell, path: Path, recording: Recording, options: Options) -> None:
    """Makes the samples of a recording the line of a run, without a ramp-up."""
    scale = recording.scale(options.every_s)
    if recording.clock == "none" and not recording.interval_s:
        scale = options.every_s or _step_s(cell, recording)
        if not options.every_s:
            told = f"its lines have no times: taken to be {scale:g} s apart (--every tells another interval)"
            cell.warnings.append(f"{path.name}: {told}")
    if recording.clock == "none" and (recording.is_counted or not recording.interval_s):
        # A program that waits for what stalls prints its next line late, and that line looks like any other.
        cell.hidden.append(f"{path.name}: its lines have no times")
    zone_s = (options.zone_s or 0.0) if recording.clock == "local" else 0.0
    samples = [replace(one, at_s=one.at_s - zone_s) for one in recording.spaced(recording.samples, scale, is_told=True)]
    usual = usual_interval([one.at_s for one in samples]) or 1.0
    began = samples[0].at_s - usual
    length_s = cell.totals_only.length_s if cell.totals_only is not None else 0.0
    ramp_s = 0.0
    if cell.rampup_s and samples[-1].at_s - began >= length_s + _RAMPUP_SHARE * cell.rampup_s:
        ramp_s = cell.rampup_s
        cell.before = [Phase(name="warmup", start_s=0.0, end_s=ramp_s)]
        cell.warnings.append(f"the first {cell.rampup_s:.0f} s of its series are taken for the ramp-up")
    whole_s = samples[-1].at_s - began
    end_s = min(ramp_s + length_s, whole_s) if length_s else whole_s
    if behind := sum(sample.at_s - began > end_s + usual / 2 for sample in samples):
        longer = length_text(whole_s - ramp_s - length_s)
        cell.warnings.append(
            f"{path.name}: {counted(behind, 'sample')} left out: it is {longer} longer than the test, and does not "
            "tell when the test began: taken to begin with the file"
        )
    last = 0.0
    for sample in samples:
        at_s = sample.at_s - began
        start_s = last if at_s - last <= GAP_TIMES * usual else at_s - usual
        if sample.length_s is not None:
            start_s = max(0.0, at_s - sample.length_s)
        last = at_s
        interval = Interval(start_s, at_s, sample.metrics, sample.line)
        if at_s <= ramp_s + usual / 2 or at_s > end_s + usual / 2:
            cell.others.append(interval)
        elif "workload.throughput" in sample.metrics:
            cell.intervals.append(replace(interval, start_s=max(start_s, ramp_s)))
        else:
            # Without a rate (the server was restarted), its gauges are still readings.
            cell.others.append(interval)
    totals = cell.totals_only
    cell.interval_s, cell.unit, cell.totals_only = usual, recording.unit, None
    if totals is not None:
        tell_difference(cell, _total_of(totals, recording.unit), totals.length_s, _COUNTER_SHARE)
    cell.warnings = [text for text in cell.warnings if text not in (NO_SERIES, NO_LENGTH)]
    cell.warnings += with_file(recording.notes, path.name)
    cell.hidden += [f"{path.name}: {note}" for note in recording.notes if isinstance(note, RestartNote)]
    if recording.clock != "none":
        cell.began = began, recording.clock == "epoch"
    cell.operations = round(sum(done_in(one, cell.unit) for one in cell.intervals))
    settle(cell, path.name)


def _step_s(cell: ImportedCell, recording: Recording) -> float:
    """The interval of a recording that has no times: HammerDB's own, or what its run has room for."""
    whole_s = cell.totals_only.length_s + cell.rampup_s if cell.totals_only is not None else 0.0
    count = len(recording.samples)
    if recording.tool != COUNTER or not whole_s:
        return 1.0
    return _REFRESH_S if count * _REFRESH_S <= _LONGER * whole_s else max(1.0, whole_s // count)


def _total_of(totals: Totals, unit: str) -> float | None:
    """The total of a run of HammerDB's in the unit of its counter."""
    name, scale = {"NOPM": ("throughput", 1.0), "tpm": ("ops_per_s", 60.0)}.get(unit, ("", 1.0))
    figure = totals.figures.get(f"workload.{name}")
    return figure.mean * scale if figure is not None and figure.mean is not None else None


def _of_device(name: str, path: Path, recording: Recording, options: Options) -> ImportedCell:
    """A run whose line is the requests of a device: no workload is known."""
    device = (options.device or "").removeprefix("/dev/")
    samples = recording.devices.get(device, [])
    cell = ImportedCell(label=name, unit="IOPS", intervals=[], interval_s=1.0, layers={"storage": "real"})
    requests = []
    for sample in samples:
        counts = [sample.metrics.get(f"storage.{kind}_ops_per_s") for kind in ("read", "write")]
        if counts == [None, None]:
            counts = [sample.metrics.get("storage.ops_per_s")]
        known = [count for count in counts if count is not None]
        if known:
            total = {"workload.throughput": sum(known), "workload.ops_per_s": sum(known)}
            requests.append(replace(sample, metrics=total))
    if len(requests) < 2:
        return cell
    line = replace(recording, samples=requests, devices={}, unit="IOPS", notes=[])
    _give_line(cell, path, line, options)
    cell.warnings.append(f"no workload lies among the files: the line is the requests of {device}")
    return cell


def _timeline(cell: ImportedCell, recordings: Mapping[Path, Recording], options: Options) -> Timeline:
    """The clock of a cell: its own start, or else the first start that a recording tells."""
    naive = [span_of(one) for one in recordings.values() if one.clock == "local" and one.times]
    known = [span_of(one) for one in recordings.values() if one.clock == "epoch" and one.times]
    if cell.began is not None:
        length_s = cell.intervals[-1].end_s if cell.intervals else 0.0
        (known if cell.began[1] else naive).append((cell.began[0], cell.began[0] + length_s))
    zone_s, text = find_zone(known, naive, options.zone_s)
    if cell.began is not None:
        began: float | None = cell.began[0] - (0.0 if cell.began[1] else zone_s)
    else:
        starts = [*(start for start, _ in known), *(start - zone_s for start, _ in naive)]
        began = min(starts, default=None)
        if began is not None and cell.intervals:
            cell.warnings.append(
                "the run does not tell when it began: taken to begin with the first recording beside it"
            )
    length_s = cell.intervals[-1].end_s if cell.intervals else (cell.totals_only.length_s if cell.totals_only else 0.0)
    if not length_s:
        length_s = max((one.times[-1] - first_s(one) for one in recordings.values() if one.times), default=0.0)
    return Timeline(length_s, began, zone_s, text, options.every_s)
