"""Making, opening, resuming and sealing result folders."""

from __future__ import annotations

import errno
import json
import shutil
import tempfile
import tomllib
import weakref
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pydantic

from flatwater.errors import FlatwaterError, UserError
from flatwater.owned import is_random_name, write_atomic
from flatwater.results import series as on_disk
from flatwater.results.phases import measured_samples, measured_span
from flatwater.results.schema import (
    SCHEMA_VERSION,
    Agreement,
    CellPlan,
    CellSummary,
    Event,
    Facts,
    FieldValues,
    Line,
    Manifest,
    Phase,
)
from flatwater.results.series import Series
from flatwater.results.started import STARTED, Started, resume_command
from flatwater.spelling import guessed_path

#: Refuse to parse JSON larger than this: a hostile or damaged folder must not exhaust memory.
JSON_BYTES_MAX = 256 * 1024 * 1024

#: Of a cell that is run again: how it ended before. A run that is under way has no other summary of it.
EARLIER = "earlier.json"
#: Folder of a result: what was measured and could not be gone on with.
SET_ASIDE = "set-aside"

#: All that flatwater keeps in a cell's folder, and what a kill leaves of the writing of it.
CELL_FILES = (
    "journal.jsonl",
    "summary.json",
    EARLIER,
    "servers.json",
    "series-[0-9]*.parquet",
    "histograms-[0-9]*.parquet",
    ".flatwater-*",
)

#: What a full disk, or one that fails, answers to a write.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)

Stored = TypeVar("Stored", bound=pydantic.BaseModel)


@dataclass
class Cell:
    """One cell of a result. `summary` is None for a cell that never finished."""

    result: Result
    plan: CellPlan
    summary: CellSummary | None
    #: Whether the journal was turned into Parquet by this process; a kill may leave parts that are not whole.
    sealed: bool = field(default=False, init=False)

    @property
    def index(self) -> int:
        """The number of the cell in the sweep, from 0 on; the folder and the rows in Parquet bear it."""
        return self.plan.index

    @property
    def set(self) -> FieldValues:
        """The swept fields and their values."""
        return self.plan.set

    @property
    def given_name(self) -> str:
        """What the experiment's file calls it; empty if nothing."""
        report = self.result.experiment.get("report")
        names = report.get("names") if isinstance(report, dict) else None
        # A repeat is called as the first one.
        return str(names[self.index % len(names)]) if isinstance(names, list) and names else ""

    @property
    def label(self) -> str:
        """Its name, or the swept values in a few words, for legends and tables."""
        text = self.given_name or ", ".join(f"{name.split('.')[-1]} {value}" for name, value in self.set.items())
        return (text or self.result.manifest.name) + (f" (repeat {self.plan.repeat + 1})" if self.plan.repeat else "")

    @property
    def folder(self) -> Path:
        """Where the files of the cell are while the run is under way; a complete result has merged them and has no such
        folder.
        """
        return self.result.path / "cells" / f"{self.index:04}"

    @property
    def journal(self) -> Path:
        """The path of the cell's journal (JSON lines), which exists from the cell's start until it is sealed."""
        return self.folder / "journal.jsonl"

    def stored_summary(self) -> CellSummary:
        """The summary that its folder has, whoever put it there. Errors: UserError."""
        own = self.folder / "summary.json"
        return validate(CellSummary, read_json(own), own)

    @property
    def phases(self) -> list[Phase]:
        """The phases of the cell, in seconds of its time: from its summary, or from the journal of an unfinished cell.

        Errors: UserError for a damaged journal.
        """
        if self.summary is not None:
            return self.summary.phases
        return phases_of_journal(self.journal)

    @property
    def events(self) -> list[Event]:
        """The events of the cell in the order of time: from its summary, or from the journal of an unfinished cell.

        Errors: UserError for a damaged journal.
        """
        return self.summary.events if self.summary is not None else events_of_journal(self.journal)

    def measured(self, layer: str, metric: str) -> Series:
        """What was measured of one recorded series: the samples that every figure of the cell is made of."""
        return measured_samples(self.series(layer, metric), self.phases)

    def measured_span(self) -> tuple[float, float]:
        """From the first measured second to the last, for axes; (0, inf) when there is none. See `measured`."""
        return measured_span(self.phases)

    @cached_property
    def _files(self) -> list[Path]:
        merged = self.result.path / "series.parquet"
        if merged.exists():
            if not merged.is_file():
                raise UserError("it is not a file", where=str(merged))
            return [merged]
        folder = self.folder
        if self.summary is None and not self.sealed and self.journal.exists():
            # Still running, or killed: sealed aside, so that reading it is the same and takes no more memory.
            folder = Path(tempfile.mkdtemp(prefix="flatwater-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            on_disk.seal_journal(self.index, self.journal, folder)
        return sorted(folder.glob("series-*.parquet"))

    def series(self, layer: str, metric: str) -> Series:
        """One recorded series over the whole cell; empty when it was not recorded."""
        try:
            return on_disk.read_series(self._files, self.index, layer, metric)
        except on_disk.UNREADABLE as error:
            raise UserError(f"cannot read the series: {error}", where=str(self.result.path)) from None

    def metrics(self) -> list[tuple[str, str]]:
        """The (layer, metric) pairs that were recorded."""
        try:
            return on_disk.list_metrics(self._files, self.index)
        except on_disk.UNREADABLE as error:
            raise UserError(f"cannot read the series: {error}", where=str(self.result.path)) from None


def add_to_phases(phases: list[Phase], line: Line) -> None:
    """Lengthens the last phase by an interval's line, or begins the next; an event's line is passed over."""
    name, end_s = line.get("phase"), line.get("time_s")
    if not isinstance(name, str) or not isinstance(end_s, int | float):
        return
    if phases and phases[-1].name == name:
        phases[-1].end_s = float(end_s)
    else:
        start_s = float(line.get("start_s", phases[-1].end_s if phases else 0.0))
        phases.append(Phase(name=name, start_s=start_s, end_s=float(end_s)))


def phases_of_journal(journal: Path) -> list[Phase]:
    """Phases from the journal's own marks: runs of lines with the same `phase`."""
    phases: list[Phase] = []
    for line in on_disk.read_journal(journal):
        add_to_phases(phases, line)
    return phases


def events_of_journal(journal: Path) -> list[Event]:
    """The events that a journal tells."""
    return [
        validate(Event, line["event"], journal)
        for line in on_disk.read_journal(journal)
        if line.get("event") is not None
    ]


@dataclass
class Result:
    """A result folder, open for reading (and, by the runner, for adding cells)."""

    path: Path
    manifest: Manifest
    experiment: dict[str, Any]
    machine: Facts
    cells: list[Cell]
    #: How far it agrees with what was published; None where nothing was, or the run is not over.
    agreement: Agreement | None = None

    @property
    def name(self) -> str:
        """The experiment's name, which the manifest has."""
        return self.manifest.name

    def write_manifest(self, status: str | None = None) -> None:
        """Writes `flatwater.json` atomically, with a new status of the run if one is given. Errors: OSError."""
        if status is not None:
            self.manifest = self.manifest.model_copy(update={"status": status})
        write_atomic(self.path / "flatwater.json", self.manifest.model_dump_json(indent=1))

    def seal_cell(self, cell: Cell) -> None:
        """Turns a cell's journal into Parquet, from which its series are then read."""
        on_disk.seal_journal(cell.index, cell.journal, cell.folder)
        cell.sealed = True

    def finish_cell(self, cell: Cell, summary: CellSummary, *, durable: bool = True) -> None:
        """Seals a cell, if that was not done yet, and keeps its summary; after this a resumed run skips it.

        `durable` waits until the disk has it, which costs as much as a small modelled cell.
        """
        if not cell.sealed:
            self.seal_cell(cell)
        write_atomic(cell.folder / "summary.json", summary.model_dump_json(), durable=durable)
        if summary.phases:
            # Without one it was not begun now, and how it ended before still counts.
            (cell.folder / EARLIER).unlink(missing_ok=True)
        cell.summary = summary

    def seal(self, status: str) -> None:
        """Merges the cells into `series.parquet`, `histograms.parquet` and `summary.json`.

        What is merged is what the cells' folders hold, so that ten thousand summaries need not be in memory at once.
        """
        done = [cell for cell in self.cells if cell.summary is not None or _is_there(cell.folder / "summary.json")]
        head: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "name": self.name, "status": status}
        if self.agreement is not None:
            head["agreement"] = self.agreement.model_dump(mode="json")
        write_atomic(self.path / "summary.json", _joined(head, "cells", (_summary_text(cell) for cell in done)))
        if status == "complete" and done:
            files = [path for cell in done for path in sorted(cell.folder.glob("*.parquet"))]
            for name, order in (("series", "cell, layer, metric, time_s"), ("histograms", "cell, kind, time_s")):
                parts = [path for path in files if path.name.startswith(f"{name}-")]
                on_disk.merge_parts(parts, self.path / f"{name}.parquet", order)
        self.write_manifest(status)
        if status == "complete":
            # Last: a kill before this leaves a whole result, and one in the middle of it too.
            for cell in self.cells:
                remove_cell(cell.folder)
            with suppress(OSError):
                (self.path / "cells").rmdir()


def create_result(
    path: Path,
    manifest: Manifest,
    experiment_toml: str,
    machine: Facts,
    *,
    exist_ok: bool = False,
    started: Started | None = None,
) -> Result:
    """Makes a result folder; refuses one that exists and is not empty, unless a run was killed while it made it.

    Errors: UserError; FlatwaterError when the disk is full. Of what it made nothing is left then.
    """
    try:
        # What reads and writes Parquet knows no other paths.
        str(path).encode()
    except UnicodeEncodeError:
        raise UserError("the path of a result must be UTF-8 text", where=repr(str(path))) from None
    made: list[Path] = []
    try:
        if path.exists() and not exist_ok and not _is_half_made(path, experiment_toml):
            raise UserError(
                "the result folder exists and is not empty" if path.is_dir() else "this is a file, and no folder",
                where=str(path),
                hint="choose another --out" + (f", or to go on: {resume_command(path)}" if _is_result(path) else ""),
            )
        made += make_folders(path / "cells")
        # The manifest last: what has one is a result.
        texts = {
            "experiment.toml": experiment_toml,
            **({STARTED: started.to_json(path)} if started is not None else {}),
            "machine.json": json.dumps(machine, indent=1),
            "flatwater.json": manifest.model_dump_json(indent=1),
        }
        for name, text in texts.items():
            if not (path / name).exists():
                made.append(path / name)
            write_atomic(path / name, text)
    except OSError as error:
        undo(made)
        what = f"cannot write the result folder: {error.strerror}"
        kind = FlatwaterError if error.errno in FULL else UserError
        raise kind(what, where=str(path), hint="make room there" if kind is FlatwaterError else None) from None
    return open_result(path)


def _is_result(path: Path) -> bool:
    return _is_there(path / "flatwater.json") or _is_there(path / INDEX)


def _is_half_made(path: Path, experiment_toml: str) -> bool:
    """Whether a folder is empty, or as a kill leaves it while it is made for this very experiment. Its experiment is
    written first, so that nobody's files are taken for ours.
    """
    if not path.is_dir():
        return False
    names = {entry.name for entry in path.iterdir()}
    if not names:
        return True
    partial = {name for name in names if is_random_name(name)}
    ours = names - {"cells", "experiment.toml", STARTED, "machine.json"} - partial
    if ours or "cells" not in names or any((path / "cells").iterdir()):
        return False
    written = path / "experiment.toml"
    return names - partial == {"cells"} or (
        written.is_file() and written.read_text(errors="replace") == experiment_toml
    )


def remove_cell(folder: Path) -> None:
    """Deletes what flatwater keeps in a cell's folder, and the folder if nothing else is in it: notes of the user's
    stay, and no link is followed.
    """
    with suppress(OSError):
        if folder.is_symlink():
            return
        for entry in folder.iterdir():
            if any(fnmatchcase(entry.name, one) for one in CELL_FILES) and not entry.is_dir():
                entry.unlink()
        folder.rmdir()


def make_folders(path: Path) -> list[Path]:
    """Makes a folder with those above it; which of them were not there, the topmost first."""
    missing = [one for one in (path, *path.parents) if not one.exists()]
    path.mkdir(parents=True, exist_ok=True)
    return missing[::-1]


def undo(made: Iterable[Path]) -> None:
    """Deletes files and empty folders that were just made."""
    for path in reversed(list(made)):
        with suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)


def _require_enterable(path: Path) -> None:
    """Errors: UserError for a folder that is there, or may be, and cannot be looked into."""
    try:
        (path / "flatwater.json").stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"cannot be read: {why}", where=str(path)) from None


def open_result(path: Path | str) -> Result:
    """Opens a result folder for reading.

    Errors: UserError when it is not a result folder, is damaged, or was written by a newer flatwater.
    """
    path = Path(path)
    if not _is_there(path / "flatwater.json"):
        hint = "give the folder that `flatwater run` or `flatwater import` printed"
        if _is_there(path):
            _require_enterable(path)
            raise UserError("not a flatwater result (no flatwater.json in it)", where=str(path), hint=hint)
        _require_enterable(path)
        raise UserError("no such folder", where=str(path), hint=guessed_path(path) or hint)
    raw = read_json(path / "flatwater.json")
    version = raw.get("schema_version") if isinstance(raw, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise UserError(
            f"schema version {version} is newer than this flatwater's {SCHEMA_VERSION}",
            where=str(path),
            hint="upgrade flatwater",
        )
    manifest = validate(Manifest, raw, path / "flatwater.json")
    try:
        experiment = tomllib.loads(read_file(path / "experiment.toml").decode(errors="replace"))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise UserError(f"cannot read experiment.toml: {error}", where=str(path)) from None
    machine = read_json(path / "machine.json") if _is_there(path / "machine.json") else {}
    if not isinstance(machine, dict):
        raise UserError("machine.json is not an object", where=str(path))
    summaries: dict[int, CellSummary] = {}
    agreement: Agreement | None = None
    if _is_there(path / "summary.json"):
        summaries, agreement = _read_summaries(path / "summary.json")
    result = Result(path, manifest, experiment, machine, [], None if manifest.status == "running" else agreement)
    for plan in sorted(manifest.cells, key=lambda plan: plan.index):
        # While a run is under way (or was killed), only the cells know what is done: the rest is of a time before.
        cell = Cell(result, plan, None if manifest.status == "running" else summaries.get(plan.index))
        own = cell.folder / "summary.json"
        if _is_there(own):
            cell.summary = validate(CellSummary, read_json(own), own)
        result.cells.append(cell)
    return result


#: The file that makes a folder one of many experiments' results.
INDEX = "experiments.json"


@dataclass(frozen=True)
class Results:
    """The results of many experiments that were run as one."""

    path: Path
    #: In the order in which they were given; each has a folder of its name.
    names: list[str]
    #: Name -> why it was not run.
    left_out: dict[str, str]
    flatwater_version: str

    def results(self) -> Iterator[tuple[str, Result | None]]:
        """Each name with its result; None for one that was not begun. Errors: UserError."""
        for name in self.names:
            there = _is_there(self.path / name / "flatwater.json")
            yield name, open_result(self.path / name) if there else None


def results_in(path: Path) -> Results:
    """The index of a folder of results.

    Errors: UserError when it is none, is damaged, or was written by a newer flatwater.
    """
    file = path / INDEX
    raw = read_json(file)
    raw = raw if isinstance(raw, dict) else {}
    names, left_out = raw.get("experiments"), raw.get("left_out", {})
    version = raw.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        what = f"schema version {version} is newer than this flatwater's {SCHEMA_VERSION}"
        raise UserError(what, where=str(path), hint="upgrade flatwater")
    if not isinstance(names, list) or not all(isinstance(one, str) and "/" not in one for one in names):
        names = None
    if names is None or not isinstance(left_out, dict):
        raise UserError("there is no list of experiments in it", where=str(file), hint="the folder is damaged")
    told = {str(name): str(why) for name, why in left_out.items()}
    return Results(path, list(names), told, str(raw.get("flatwater_version", "")))


def _summary_text(cell: Cell) -> str:
    """A finished cell's summary as JSON."""
    own = cell.folder / "summary.json"
    if cell.summary is not None and not _is_there(own):
        return cell.summary.model_dump_json()
    return read_file(own).decode(errors="replace")


def _joined(head: dict[str, Any], name: str, items: Iterator[str]) -> Iterator[str]:
    """A JSON object piece by piece: what is in `head`, and a list of objects that are texts already."""
    yield f"{json.dumps(head)[:-1]}, {json.dumps(name)}: ["
    for number, item in enumerate(items):
        yield f",\n{item}" if number else item
    yield "]}"


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name too long, a folder that may not be entered
        return False


def _read_summaries(path: Path) -> tuple[dict[int, CellSummary], Agreement | None]:
    whole = read_json(path)
    cells = whole.get("cells") if isinstance(whole, dict) else None
    if not isinstance(cells, list):
        raise UserError("there is no list of cells in it", where=str(path))
    told = whole.get("agreement")
    agreement = validate(Agreement, told, path) if told is not None else None
    return {summary.cell: summary for summary in (validate(CellSummary, item, path) for item in cells)}, agreement


def validate(model: type[Stored], raw: Any, where: Path) -> Stored:
    """Checks what was read from disk; a mismatch is the folder's fault, told in one line."""
    try:
        return model.model_validate(raw)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "it"
        raise UserError(f"{place}: {first['msg']}", where=str(where), hint="the result is damaged") from None


def read_file(path: Path) -> bytes:
    """A small file of a result folder. Errors: UserError for what is no file (a FIFO would never end), or too large."""
    try:
        if not path.is_file():
            raise UserError("there is no such file" if not path.exists() else "it is not a file", where=str(path))
        if path.stat().st_size > JSON_BYTES_MAX:
            raise UserError(f"larger than {JSON_BYTES_MAX >> 20} MiB", where=str(path), hint="the result is damaged")
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read it: {error.strerror}", where=str(path)) from None


def read_json(path: Path) -> Any:
    """The value in a JSON file of a result. Errors: UserError for a file that is missing, too large or not JSON."""
    try:
        return json.loads(read_file(path))
    except (ValueError, RecursionError) as error:
        raise UserError(f"not JSON: {error}", where=str(path), hint="the result is damaged or truncated") from None


def now_utc() -> str:
    """The time as ISO 8601, UTC, whole seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")
