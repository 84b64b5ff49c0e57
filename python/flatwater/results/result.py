"""A result and its cells: what they hold, and how a run adds to them."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cached_property
from pathlib import Path
from typing import Any

from flatwater.errors import UserError
from flatwater.owned import write_atomic
from flatwater.results import sealed
from flatwater.results.agreement import Agreement
from flatwater.results.digests import DIGESTS
from flatwater.results.facts import MachineFacts
from flatwater.results.journal_phases import events_of_journal, phases_of_journal
from flatwater.results.merging import merge_parts
from flatwater.results.phases import measured_samples, measured_span
from flatwater.results.schema import (
    SCHEMA_VERSION,
    CellPlan,
    CellSummary,
    Event,
    FieldValues,
    Manifest,
    Phase,
)
from flatwater.results.series import Series, seal_journal
from flatwater.results.stored import exists, read_file, read_json, validate

#: File in the folder of a cell that is run again: the summary of the run before. While the cell runs, no other is kept.
EARLIER = "earlier.json"
#: File in the folder of a cell whose journal came from a worker of a cluster, while the cell ran there. This machine
#: cannot go on with such a cell: it would mix what two machines measured.
ELSEWHERE = "elsewhere.json"
#: Folder of a result: the measurements of cells that could not be continued.
SET_ASIDE = "set-aside"

#: Every file that flatwater keeps in the folder of a cell, and what a kill leaves of a file that was being written.
_CELL_FILES = (
    "journal.jsonl",
    "summary.json",
    EARLIER,
    ELSEWHERE,
    "servers.json",
    DIGESTS,
    "series-[0-9]*.parquet",
    "histograms-[0-9]*.parquet",
    ".flatwater-*",
)
_CELL_FILE = re.compile("|".join(map(translate, _CELL_FILES)))


def is_cell_file(name: str) -> bool:
    """Whether a file of this name in the folder of a cell is flatwater's."""
    return _CELL_FILE.match(name) is not None


@dataclass
class Cell:
    """One cell of a result. `summary` is None for a cell that never finished."""

    result: Result
    plan: CellPlan
    summary: CellSummary | None
    #: Whether this process turned the journal into Parquet. A kill may leave incomplete parts, which are not read.
    _sealed: bool = field(default=False, init=False)

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
        """The name in the experiment's file; empty if it gives none."""
        report = self.result.experiment.get("report")
        names = report.get("names") if isinstance(report, dict) else None
        # Repeats have the name of the first run.
        return str(names[self.index % len(names)]) if isinstance(names, list) and names else ""

    @property
    def label(self) -> str:
        """Its name, or the swept values in a few words, for legends and tables."""
        text = self.given_name or ", ".join(f"{name.split('.')[-1]} {value}" for name, value in self.set.items())
        return (text or self.result.manifest.name) + (f" (repeat {self.plan.repeat + 1})" if self.plan.repeat else "")

    @cached_property
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
        """The summary in the cell's folder, whichever process wrote it. Errors: UserError."""
        file = self.folder / "summary.json"
        return validate(CellSummary, read_json(file), file)

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

    @property
    def histograms(self) -> dict[str, str]:
        """Latencies of the measured phase by kind, base64 of HdrHistogram V2+DEFLATE.

        They are from its summary, or from the journal of an unfinished cell.

        Errors: UserError for a damaged journal.
        """
        from flatwater.results.latencies import latencies_of_journal

        return self.summary.histograms if self.summary is not None else latencies_of_journal(self.journal)

    def seal(self) -> None:
        """Turns the journal into Parquet files, from which the series are then read."""
        seal_journal(self.index, self.journal, self.folder)
        self._sealed = True

    def mark_sealed(self) -> None:
        """Notes that the Parquet files are complete: the process that recorded the cell wrote them itself."""
        self._sealed = True

    def finish(self, summary: CellSummary, *, durable: bool = True) -> None:
        """Seals the cell, unless that was done, and writes its summary. A resumed run skips the cell from then on.

        `durable` waits until the summary is on the disk, which takes as long as a small modelled cell.
        """
        if not self._sealed:
            self.seal()
        write_atomic(self.folder / "summary.json", summary.model_dump_json(), durable=durable)
        if summary.phases:
            # A summary without phases: this run did not begin the cell, so the summary of the earlier run still counts.
            (self.folder / EARLIER).unlink(missing_ok=True)
        self.summary = summary

    def drop_summary(self) -> None:
        """Forgets the summary in memory; its file stays."""
        self.summary = None

    def measured(self, layer: str, metric: str) -> Series:
        """The measured samples of one recorded series. Every figure of the cell is computed from them."""
        return measured_samples(self.series(layer, metric), self.phases)

    def measured_span(self) -> tuple[float, float]:
        """From the first measured second to the last, for axes; (0, inf) if nothing was measured. See `measured`."""
        return measured_span(self.phases)

    @cached_property
    def _files(self) -> list[Path]:
        merged = self.result.path / "series.parquet"
        if merged.exists():
            if not merged.is_file():
                raise UserError("it is not a file", where=str(merged))
            return [merged]
        folder = self.folder
        if self.summary is None and not self._sealed and self.journal.exists():
            # The cell still runs, or was killed. A sealed copy in a temporary folder is read as any cell, and needs no
            # more memory.
            folder = Path(tempfile.mkdtemp(prefix="flatwater-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            seal_journal(self.index, self.journal, folder)
        found = sorted(folder.glob("series-*.parquet"))
        if not found and self.summary is not None and self.summary.metrics:
            hint = "put it back; without it, only the figures of the summary are left"
            raise UserError(
                "there is no series.parquet, and its summary has series", where=str(self.result.path), hint=hint
            )
        return found

    def series(self, layer: str, metric: str) -> Series:
        """One recorded series over the whole cell; empty when it was not recorded."""
        try:
            return sealed.read_series(self._files, self.index, layer, metric)
        except sealed.UNREADABLE as error:
            raise UserError(f"cannot read the series: {error}", where=str(self.result.path)) from None

    def metrics(self) -> list[tuple[str, str]]:
        """The (layer, metric) pairs that were recorded."""
        try:
            return sealed.list_metrics(self._files, self.index)
        except sealed.UNREADABLE as error:
            raise UserError(f"cannot read the series: {error}", where=str(self.result.path)) from None


@dataclass
class Result:
    """A result folder, open for reading (and, by the runner, for adding cells)."""

    path: Path
    manifest: Manifest
    experiment: dict[str, Any]
    machine: MachineFacts
    cells: list[Cell]
    #: How far it agrees with the published figures; None if there are none, or while the run is not over.
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

    def seal(self, status: str) -> None:
        """Merges the cells into `series.parquet`, `histograms.parquet` and `summary.json`.

        The files in the cells' folders are merged, so that ten thousand summaries need not be in memory at once.
        """
        done = [cell for cell in self.cells if cell.summary is not None or exists(cell.folder / "summary.json")]
        head: dict[str, object] = {"schema_version": SCHEMA_VERSION, "name": self.name, "status": status}
        if self.agreement is not None:
            head["agreement"] = self.agreement.model_dump(mode="json")
        write_atomic(self.path / "summary.json", _json_pieces(head, "cells", (_summary_text(cell) for cell in done)))
        if status == "complete" and done:
            files = [cell.folder / name for cell in done for name in _parts_in(cell.folder)]
            for name, order in (("series", "cell, layer, metric, time_s"), ("histograms", "cell, kind, time_s")):
                parts = [path for path in files if path.name.startswith(f"{name}-")]
                merge_parts(parts, self.path / f"{name}.parquet", order)
        self.write_manifest(status)
        if status == "complete":
            # Comes last: a kill before this or during it leaves a complete result.
            for cell in self.cells:
                remove_cell(cell.folder)
            with suppress(OSError):
                (self.path / "cells").rmdir()


def remove_cell(folder: Path) -> None:
    """Deletes flatwater's files in the folder of a cell, and the folder if it is empty then.

    Files of the user stay. No link is followed.
    """
    with suppress(OSError):
        if folder.is_symlink():
            return
        with os.scandir(folder) as entries:
            ours = [entry.path for entry in entries if is_cell_file(entry.name) and not entry.is_dir()]
        # Not pathlib: a large sweep has tens of thousands of them.
        for path in ours:
            os.unlink(path)  # noqa: PTH108
        folder.rmdir()


def _parts_in(folder: Path) -> list[str]:
    """The names of a sealed cell's Parquet files, in their order; none of a cell that left no folder."""
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(".parquet"))  # noqa: PTH208
    except FileNotFoundError:
        return []


def _summary_text(cell: Cell) -> str:
    """The summary of a finished cell, as JSON."""
    file = cell.folder / "summary.json"
    if cell.summary is not None and not exists(file):
        return cell.summary.model_dump_json()
    return read_file(file).decode(errors="replace")


def _json_pieces(head: dict[str, object], name: str, items: Iterator[str]) -> Iterator[str]:
    """A JSON object in pieces: the fields of `head`, and the field `name`, a list of `items` that are JSON already."""
    yield f"{json.dumps(head)[:-1]}, {json.dumps(name)}: ["
    for number, item in enumerate(items):
        yield f",\n{item}" if number else item
    yield "]}"
