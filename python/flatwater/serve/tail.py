"""What the journal of a cell has said so far. It is read on, never again from its start."""

from __future__ import annotations

import math
import os
import weakref
from array import array
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np

from flatwater.report.downsample import kept
from flatwater.results import Cell, Event, Phase, Series
from flatwater.results.journal_phases import add_to_phases, require_few
from flatwater.results.schema import JournalLine
from flatwater.results.series import EMPTY, LINE_BYTES_MAX, journal_line, line_too_long, open_journal
from flatwater.results.stored import validate

#: Bytes that are read at once: a journal of hours comes in pieces.
CHUNK_BYTES = 4 * 1024 * 1024
#: Intervals that are kept; the older half is thinned beyond that, so that a run of weeks needs no more memory.
ROWS_MAX = 60_000


class Lines:
    """The whole lines of a journal that is being written, from its start on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: BinaryIO | None = None
        self._rest = b""
        self._number = 0

    def close(self) -> None:
        """Lets the file go."""
        if self._handle is not None:
            self._handle.close()
            self._handle = None

    def anew(self) -> bool:
        """Whether the file is not the one that was read: a run was resumed, and began the cell again."""
        if self._handle is None:
            return False
        ours = os.fstat(self._handle.fileno())
        if ours.st_size < self._handle.tell():
            return True
        with suppress(OSError):
            now = self._path.stat()
            return (now.st_dev, now.st_ino) != (ours.st_dev, ours.st_ino)
        return False  # it was merged into the result: what was read is all

    def read(self) -> Iterator[JournalLine]:
        """The lines that are new. Errors: UserError for a file that no run wrote."""
        if self._handle is None:
            try:
                self._handle = open_journal(self._path)
            except FileNotFoundError:
                return
            weakref.finalize(self, self._handle.close)
        while piece := self._handle.read(CHUNK_BYTES):
            whole, newline, rest = (self._rest + piece).rpartition(b"\n")
            self._rest = rest[: LINE_BYTES_MAX + 1]
            if len(rest) > LINE_BYTES_MAX:
                raise line_too_long(self._number + 1, self._path)
            for raw in whole.split(b"\n") if newline else ():
                self._number += 1
                yield journal_line(raw, self._number, self._path)


class Tail(Cell):
    """A cell that is under way, as the report's charts read one: its series are what the journal has said so far.

    Of the series, only those of `wanted` (`layer.metric`) are kept.
    """

    def __init__(self, cell: Cell, wanted: Collection[str]) -> None:
        super().__init__(cell.result, cell.plan, None)
        self._wanted = frozenset(wanted)
        self._begin()

    def _begin(self) -> None:
        self._lines = Lines(self.journal)
        self.times = array("d")
        self.columns: dict[str, array[float]] = {}
        self._phases: list[Phase] = []
        self._events: list[Event] = []
        #: Intervals that were read, also those that were thinned since.
        self.rows = 0
        #: Whether its time is computed.
        self.virtual = False

    def close(self) -> None:
        """Lets the journal go; what was read stays."""
        self._lines.close()

    def advance(self) -> bool:
        """Reads what is new. True if it began anew, because the cell did. Errors: UserError for a damaged journal."""
        began = self._lines.anew()
        if began:
            self._lines.close()
            self._begin()
        for line in self._lines.read():
            self._add(line)
        return began

    def _add(self, line: JournalLine) -> None:
        if line.get("event") is not None:
            self._events.append(validate(Event, line["event"], self.journal))
            require_few(self._events, "events", self.journal)
            return
        if "metrics" not in line:
            return
        add_to_phases(self._phases, line)
        require_few(self._phases, "phases", self.journal)
        self.virtual = line.get("cpu_s", 0.0) is None
        metrics = line["metrics"]
        for name in self._wanted & metrics.keys() - self.columns.keys():
            self.columns[name] = array("d", [math.nan]) * len(self.times)
        self.times.append(float(line["time_s"]))
        for name, column in self.columns.items():
            value = metrics.get(name)
            column.append(math.nan if value is None else float(value))
        self.rows += 1
        if len(self.times) > ROWS_MAX:
            self._thin()

    def _thin(self) -> None:
        """Keeps of the older half what a chart of it shows."""
        half = ROWS_MAX // 2
        # Four samples of each bucket and column stay at most: together half of this half.
        buckets = max(1, half // (8 * max(1, len(self.columns))))
        columns = [np.array(column[:half]) for column in (self.columns or {"": self.times}).values()]
        # Buckets of equal time: what was thinned before has fewer samples, and is not thinned more for that.
        times = np.array(self.times[:half])
        ends = np.searchsorted(times, np.linspace(times[0], times[-1], buckets + 1)[1:], side="right")
        spans = zip([0, *ends[:-1]], ends, strict=True)
        places = np.unique(
            np.concatenate(
                [start + kept(column[start:end], 1) for start, end in spans if end > start for column in columns]
            )
        )
        for column in (self.times, *self.columns.values()):
            thinned = array("d", np.array(column[:half])[places].tobytes())
            column[:half] = thinned

    @property
    def phases(self) -> list[Phase]:
        """The phases so far."""
        return self._phases

    @property
    def events(self) -> list[Event]:
        """The events so far."""
        return self._events

    @property
    def at_s(self) -> float:
        """The end of the last interval, seconds of the cell's time; 0 before the first."""
        return self.times[-1] if self.times else 0.0

    def metrics(self) -> list[tuple[str, str]]:
        """The (layer, metric) pairs that are kept."""
        pairs = (name.partition(".") for name in sorted(self.columns))
        return [(layer, metric) for layer, _, metric in pairs]

    def series(self, layer: str, metric: str) -> Series:
        """One series so far; empty if it is not kept."""
        column = self.columns.get(f"{layer}.{metric}")
        if column is None:
            return EMPTY
        return Series(np.array(self.times), np.array(column))

    def last(self, series: str) -> float | None:
        """The last sample of a series; None if there is none."""
        column = self.columns.get(series)
        return column[-1] if column and math.isfinite(column[-1]) else None
