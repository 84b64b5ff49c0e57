"""All outputs that lie in a folder as one result: runs of benchmarks, and what was sampled while they ran.

A file belongs to a run with the same name (`names.py`), or to the only run of its folder. Each file is accounted for:
what was taken of it, or why not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from flatwater.errors import UserError
from flatwater.printing import counted
from flatwater.results.importers.adding import Assembled, busiest_of
from flatwater.results.importers.assemble import Options, assemble, from_recordings
from flatwater.results.importers.clocks import span_of
from flatwater.results.importers.dates import settled, settled_by
from flatwater.results.importers.imported import ImportedCell, Importer
from flatwater.results.importers.names import key_of, runs_of
from flatwater.results.importers.prefixes import prefix_of
from flatwater.results.importers.samplers import SAMPLERS, Recording
from flatwater.results.importers.settling import parts_of, read_part, tell_rejected
from flatwater.results.importers.texts import read_head

#: A folder with more files than this is probably not the one that was meant.
FILES_MAX = 20_000


#: Why a file is not taken that was taken already.
TWICE = "given twice: it is taken once"
#: Why a link in a folder is not followed: it may lead out of the folder, or back to it.
LINK = "is a link: links in a folder are not followed"


@dataclass(frozen=True)
class FileReport:
    """What became of one file."""

    path: Path
    #: The format; None if it is none that is known.
    tool: str | None
    #: What was taken; empty if nothing was.
    taken: str = ""
    #: Why nothing was taken.
    left_out: str = ""
    #: Columns or counters that are not taken.
    unknown: tuple[str, ...] = ()
    #: What to do about it; empty if that is not known.
    hint: str = ""


@dataclass
class _Group:
    """The files of one run, or of one folder."""

    cells: list[tuple[Path, ImportedCell]] = field(default_factory=list)
    recordings: list[tuple[Path, Recording]] = field(default_factory=list)
    #: The formats of the files of runs.
    formats: dict[Path, str] = field(default_factory=dict)
    #: The device that is taken, where the user names none; None: the busiest one.
    device: str | None = None


@dataclass
class Found:
    """The cells of a folder, and an account of all its files."""

    cells: list[ImportedCell] = field(default_factory=list)
    reports: list[FileReport] = field(default_factory=list)


def read_folder(paths: Sequence[Path], formats: Sequence[Importer], options: Options) -> Found:
    """Reads all files of folders, and files by themselves. Errors: UserError if nothing can be taken."""
    found = Found()
    by_folder: dict[Path, list[Path]] = {}
    for path in sorted(_files(paths, found)):
        by_folder.setdefault(path.parent, []).append(path)
    many = len(by_folder) > 1
    root = Path(paths[0]) if len(paths) == 1 else None
    for folder, files in by_folder.items():
        group = _classified(files, formats, found)
        prefix = _prefix(folder, root) if many else ""
        for part in _parted(group, options, found):
            _assemble(part, prefix, options, found)
    if not found.cells:
        raise _nothing(found, paths)
    return found


def _files(paths: Sequence[Path], found: Found) -> Iterator[Path]:
    """Every file, but none of hidden folders and of results of flatwater's."""
    seen: set[str] = set()
    for path in paths:
        inner = [path] if not path.is_dir() else _below(path, found)
        for one in inner:
            if (real := os.path.realpath(one)) in seen:
                found.reports.append(FileReport(one, None, left_out=TWICE))
                continue
            seen.add(real)
            if len(seen) > FILES_MAX:
                raise UserError(f"more than {FILES_MAX:,} files", where=str(path), hint="import one of its folders")
            yield one


def _below(folder: Path, found: Found) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        found.reports.append(FileReport(folder, None, left_out=f"cannot be read: {error.strerror}"))
        return
    if any(entry.name == "flatwater.json" for entry in entries):
        found.reports.append(FileReport(folder, None, left_out="is a result of flatwater's"))
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_symlink():
            found.reports.append(FileReport(entry, None, left_out=LINK, hint="import what it points to"))
        elif entry.is_dir():
            yield from _below(entry, found)
        else:
            # Pipes and sockets, too: they are told with the files that cannot be read.
            yield entry


def is_sampled(path: Path) -> bool:
    """Whether a file is a sampler's output. Errors: UserError for a file that cannot be read."""
    head = read_head(path)
    return any(sampler.recognises(path, head) for sampler in SAMPLERS)


def _classified(files: Sequence[Path], formats: Sequence[Importer], found: Found) -> _Group:
    group = _Group()
    by_format: dict[str, list[Path]] = {}
    for path in files:
        try:
            head = read_head(path)
        except UserError as error:
            found.reports.append(FileReport(path, None, left_out=error.what, hint=error.hint or ""))
            continue
        sampler = next((one for one in SAMPLERS if one.recognises(path, head)), None)
        importer = next((one for one in formats if one.recognises(path, head)), None) if sampler is None else None
        if sampler is not None:
            try:
                group.recordings.append((path, sampler.read(path)))
            except UserError as error:
                found.reports.append(_refused(error, path, sampler.NAME))
        elif importer is not None:
            by_format.setdefault(importer.NAME, []).append(path)
        else:
            hint = prefix_of(head, [*(one.recognises for one in SAMPLERS), *(one.recognises for one in formats)], path)
            found.reports.append(FileReport(path, None, left_out="no output that we know", hint=hint))
    for importer in formats:
        for part in parts_of(importer, by_format.get(importer.NAME, [])):
            _read_runs(importer, part, group, found)
    return group


def _read_runs(importer: Importer, paths: list[Path], group: _Group, found: Found) -> None:
    used = {one.resolve() for _, cell in group.cells for one in cell.used}
    paths = [path for path in paths if path.resolve() not in used]
    if not paths:
        return
    try:
        cells = read_part(importer, paths)
    except UserError as error:
        found.reports += [_refused(error, path, importer.NAME) for path in paths]
        return
    tell_rejected([cell for _, cell in group.cells], paths, cells)
    for cell in cells:
        known = [one for one, other in group.cells if _is_same(cell, other)]
        if known:
            found.reports.append(FileReport(paths[0], importer.NAME, left_out=f"the same result as {known[0].name}"))
            continue
        cell.files = [path.name for path in paths]
        group.cells.append((paths[0], cell))
        group.formats[paths[0]] = importer.NAME
    if any(path == paths[0] for path, _ in group.cells):
        texts = [_run_text(cell) for path, cell in group.cells if path == paths[0]]
        found.reports += [FileReport(path, importer.NAME, taken="; ".join(texts[:3])) for path in paths]


def _is_same(one: ImportedCell, other: ImportedCell) -> bool:
    """Whether two runs without a series are one: a log and a copy of its result."""
    figures = [(cell.totals, cell.totals_only, cell.operations, cell.bytes) for cell in (one, other)]
    return bool(one.totals) and not one.intervals and figures[0] == figures[1]


def _run_text(cell: ImportedCell) -> str:
    text = "a run, totals only"
    if cell.totals_only is None:
        text = f"a run of {cell.intervals[-1].end_s - cell.intervals[0].start_s:.0f} s in {cell.unit}"
    return ", ".join([text, *cell.unread])


def _parted(group: _Group, options: Options, found: Found) -> Iterator[_Group]:
    """The files of a folder by the run that they belong to."""
    if len(group.cells) > 1:
        yield from _by_run(group, options, found)
        return
    by_key: dict[tuple[str, ...], _Group] = {}
    for path, recording in group.recordings:
        by_key.setdefault(key_of(path, recording.tool), _Group()).recordings.append((path, recording))
    counted = [recording for _, recording in group.recordings if recording.unit]
    if group.cells or len(by_key) <= 1 or len(counted) <= 1:
        yield group
    else:
        yield from by_key.values()


def _by_run(group: _Group, options: Options, found: Found) -> Iterator[_Group]:
    """The runs, each with what has its name. Of several runs of one name, or of none, only times tell which it is."""
    parts = [_Group([one]) for one in group.cells]
    runs = [(path, group.formats[path]) for path, _ in group.cells]
    shared: list[tuple[Path, Recording, Sequence[int], bool]] = []
    for path, recording in group.recordings:
        own = runs_of(path, recording.tool, runs)
        # A name of its own is that of another run, which may have been on another host at the same time.
        named: Sequence[int] = own or ([] if key_of(path, recording.tool) else range(len(runs)))
        if len(own) == 1:
            parts[own[0]].recordings.append((path, recording))
        else:
            shared.append((path, recording, named, bool(own)))
    for path, recording, named, has_name in shared:
        places, why = _runs_within(recording, group, named, options)
        # What has a run's own name goes before what only shares its time.
        having = [place for place in places if any(one.tool == recording.tool for _, one in parts[place].recordings)]
        for place in places:
            if place not in having:
                own_devices = any(one.devices for _, one in parts[place].recordings)
                parts[place].recordings.append((path, recording))
                # Runs of one recording are compared: of each, the same device is taken.
                parts[place].device = None if own_devices else busiest_of(recording)
        if places and len(having) == len(places):
            why = f"the runs in its time have recordings of {recording.tool} of their own"
        elif not places and has_name:
            why = f"{len(named)} runs have its name, and {why or 'it is not known which of them it belongs to'}"
        elif not places:
            none = f"belongs to none of the {len(runs)} runs in its folder: none has a name like it"
            why = f"{none}, and {why}" if why else none
        if len(having) == len(places):
            found.reports.append(FileReport(path, recording.tool, left_out=why))
    yield from parts


def _runs_within(recording: Recording, group: _Group, places: Sequence[int], options: Options) -> tuple[list[int], str]:
    """The runs in whose time a recording lies; else none, and why, if its times could tell it."""
    cells = [(place, group.cells[place][1]) for place in places]
    runs = [(place, cell, cell.began) for place, cell in cells if cell.began is not None]
    if recording.clock == "none" or not recording.times or not runs:
        return [], ""
    dated = [began[0] for _, cell, began in runs if cell.has_year]
    if not dated:
        return [], "the times of the runs have no year"
    known = settled_by(recording, dated)
    first_s, last_s = span_of(known)
    begin_s, is_epoch = _on_one_clock((first_s, known.clock == "epoch"), options)
    end_s = begin_s + last_s - first_s
    inside = []
    for place, cell, began in runs:
        start_s, is_known = _on_one_clock(began, options)
        if is_known != is_epoch:
            return [], "it is not known how its clock and that of the runs differ (--timezone tells it)"
        totals_s = cell.totals_only.length_s if cell.totals_only is not None else 0.0
        stop_s = start_s + (cell.intervals[-1].end_s if cell.intervals else totals_s)
        if min(end_s, stop_s) > max(begin_s, start_s):
            inside.append((start_s, stop_s, place))
    inside.sort()
    if any(after[0] < before[1] for before, after in pairwise(inside)):
        return [], "several runs went on at the same time then: it is not known which of them it is of"
    return [place for _, _, place in inside], "" if inside else "its times lie in none of them"


def _on_one_clock(moment: tuple[float, bool], options: Options) -> tuple[float, bool]:
    """A moment, and whether its zone is known: the user may tell that of times without one."""
    at_s, is_epoch = moment
    return moment if is_epoch or options.zone_s is None else (at_s - options.zone_s, True)


def _assemble(part: _Group, prefix: str, options: Options, found: Found) -> None:
    recordings = settled(dict(part.recordings), part.cells[0][1] if part.cells else None)
    options = replace(options, device=options.device or part.device)
    if part.cells:
        (path, cell) = part.cells[0]
        made: Assembled | None = assemble(cell, recordings, options)
    else:
        made = from_recordings(recordings, options)
    if made is None:
        for path, recording in part.recordings:
            why, hint = "no run lies beside it, and it has no throughput of its own", ""
            if recording.counts and not options.every_s:
                why = "its readings have no times, so its counts are no rates"
                hint = "--every SECONDS tells how far apart the readings are"
            if options.device is not None and recording.devices:
                why = f"has no {options.device}, as --device says: it has {', '.join(sorted(recording.devices)[:8])}"
            found.reports.append(FileReport(path, recording.tool, left_out=why, hint=hint))
        return
    cell = made.cell
    name = cell.label if part.cells or not prefix else ""
    cell.label = "/".join(text for text in (prefix, name) if text) or cell.label
    for path, recording in part.recordings:
        taken, left_out = made.taken.get(path, ""), made.left_out.get(path, "")
        if taken:
            cell.files.append(path.name)
        report = FileReport(path, recording.tool, taken, left_out, tuple(recording.unknown))
        found.reports += [report] if report not in found.reports else []  # of a run before it, too
    found.cells.append(cell)


def _prefix(folder: Path, root: Path | None) -> str:
    try:
        return str(folder.relative_to(root)) if root is not None and folder != root else ""
    except ValueError:
        return folder.name


def _refused(error: UserError, path: Path, tool: str) -> FileReport:
    return FileReport(path, tool, left_out=_place(error, path), hint=error.hint or "")


def _place(error: UserError, path: Path) -> str:
    """An error about a file without the file's own name."""
    line = (error.where or "").removeprefix(str(path)).lstrip(":")
    return f"{f'line {line}: ' if line.isdecimal() else ''}{error.what}"


def _nothing(found: Found, paths: Sequence[Path]) -> UserError:
    """The error for files of which nothing can be taken: what is wrong with the first whose format is known."""
    if not found.reports:
        return UserError("there are no files in it", where=str(paths[0]))
    first = next((one for one in found.reports if one.tool is not None), found.reports[0])
    many = len(found.reports) > 1
    hint = first.hint or ("import one of the files by itself: it tells what is wrong with it" if many else "")
    what = f"nothing can be imported of {counted(len(found.reports), 'file')}; {first.path.name}: {first.left_out}"
    return UserError(what, where=str(paths[0]), hint=hint or None)
