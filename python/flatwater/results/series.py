"""Series on disk: journal lines become Parquet sorted by (cell, layer, metric, time)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flatwater.errors import UserError
from flatwater.results.arrays import binary_array, number_array, text_array
from flatwater.results.foreign import NotRegularError, open_regular
from flatwater.results.schema import JournalLine

#: Bytes of a line of a journal at most: flatwater's have some 10 KB.
LINE_BYTES_MAX = 8 * 1024 * 1024
_DAMAGED = "the result was damaged after it was written; a resumed run keeps it aside"
#: Journal lines in one sorted part: bounds the memory for sealing a run of days.
PART_LINES = 3600
#: A part with at most this many rows is one group: a second group would cost more than it saves.
SMALL_PART_ROWS = 4096
#: The minimum of rows in a row group of a part, if there are so many: about a whole block of one metric.
SHARED_GROUP_ROWS = 4096

_SERIES_FIELDS: list[Any] = [  # pyarrow's type stubs have no dictionary field
    pa.field("cell", pa.int32()),
    pa.field("layer", pa.dictionary(pa.int32(), pa.string())),
    pa.field("metric", pa.dictionary(pa.int32(), pa.string())),
    pa.field("time_s", pa.float64()),
    pa.field("value", pa.float64()),
]
SERIES_SCHEMA = pa.schema(_SERIES_FIELDS)
_HISTOGRAM_FIELDS: list[Any] = [
    pa.field("cell", pa.int32()),
    pa.field("kind", pa.string()),
    pa.field("time_s", pa.float64()),
    pa.field("hdr", pa.binary()),
]
HISTOGRAM_SCHEMA = pa.schema(_HISTOGRAM_FIELDS)


@dataclass(frozen=True)
class Series:
    """One metric of one cell: `time_s[i]` is the end of the interval that `value[i]` describes."""

    time_s: np.ndarray[Any, np.dtype[np.float64]]
    value: np.ndarray[Any, np.dtype[np.float64]]

    def __len__(self) -> int:
        return len(self.time_s)

    def between(self, start_s: float, end_s: float) -> Series:
        """The intervals that end in (start_s, end_s]; a 1 ms tolerance absorbs rounding."""
        low, high = np.searchsorted(self.time_s, [start_s + 1e-3, end_s + 1e-3], side="left")
        return Series(self.time_s[low:high], self.value[low:high])


EMPTY = Series(np.empty(0), np.empty(0))


def open_journal(path: Path) -> BinaryIO:
    """A journal, open for reading. Errors: FileNotFoundError; UserError if it cannot be read or is no regular file."""
    try:
        return open_regular(path)
    except FileNotFoundError:
        raise
    except NotRegularError as error:
        raise UserError(str(error.strerror), where=str(path), hint="move it away") from None
    except OSError as error:
        raise UserError(f"cannot read it: {error.strerror}", where=str(path)) from None


def read_journal(path: Path) -> Iterator[JournalLine]:
    """The complete lines of a journal. It ends at a torn last line, which a killed run may have left."""
    try:
        handle = open_journal(path)
    except FileNotFoundError:
        return
    with handle:
        for number in count(1):
            raw = handle.readline(LINE_BYTES_MAX + 1)
            if len(raw) > LINE_BYTES_MAX:
                raise line_too_long(number, path)
            if not raw.endswith(b"\n"):
                return
            yield journal_line(raw, number, path)


def line_too_long(number: int, path: Path) -> UserError:
    """The error for a line that no run wrote; it need not have been read to its end."""
    what = f"line {number} is longer than {LINE_BYTES_MAX >> 20} MiB, which no run writes"
    return UserError(what, where=str(path), hint=_DAMAGED)


def journal_line(raw: bytes, number: int, path: Path) -> JournalLine:
    """A whole line of a journal; `number` counts from 1. Errors: UserError if no run wrote such a line."""
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"line {number} is not JSON: {error}",
            where=str(path),
            hint=_DAMAGED,
        ) from None
    if not _is_journal_line(line):
        raise UserError(f"line {number} is no interval and no event", where=str(path))
    return cast("JournalLine", line)


def _is_journal_line(line: Any) -> bool:
    """Whether a line has the shape of the runner's lines. The content of a folder is never trusted."""
    if not isinstance(line, dict):
        return False
    metrics, histograms = line.get("metrics", {}), line.get("histograms", {})
    return (
        isinstance(metrics, dict)
        and all("." in name and (value is None or _is_number(value)) for name, value in metrics.items())
        and isinstance(histograms, dict)
        and all(isinstance(text, str) for text in histograms.values())
        and all(_is_number(line.get(name, 0.0)) for name in ("time_s", "start_s"))
        and ("metrics" not in line or "time_s" in line)
    )


def _is_number(value: Any) -> bool:
    # Integers in JSON have no limit, in Parquet 64 bits.
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63)


class PartWriter:
    """Turns journal lines into sorted parts `series-NNNNN.parquet` and `histograms-NNNNN.parquet`, block by block.

    It is used while a cell runs, so that little is left to do at the end of a day's run. Errors of `add` and `close`:
    FlatwaterError for a line with wrong fields; `where` names the journal.
    """

    def __init__(self, cell: int, folder: Path, where: Path) -> None:
        self._cell = cell
        self._folder = folder
        self._where = where
        self._block: list[JournalLine] = []
        self._parts = 0

    def add(self, line: JournalLine) -> None:
        """Adds the line of an interval; ignores the line of an event."""
        if "metrics" in line:
            self._block.append(line)
            if len(self._block) == PART_LINES:
                self._write()

    def close(self) -> None:
        """Writes the rest. There is at least one part afterwards."""
        if self._block or self._parts == 0:
            self._write()

    def _write(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        _write_part(self._cell, self._block, self._where, self._folder, self._parts)
        self._parts += 1
        self._block = []


def seal_journal(cell: int, journal: Path, parts: Path) -> None:
    """Writes a whole journal as parts."""
    writer = PartWriter(cell, parts, journal)
    for line in read_journal(journal):
        writer.add(line)
    writer.close()


def _write_part(cell: int, block: list[JournalLine], journal: Path, parts: Path, number: int) -> None:
    columns: dict[str, tuple[list[float], list[float]]] = {}
    for line in block:
        for name, value in line["metrics"].items():
            if value is not None:
                times, values = columns.setdefault(name, ([], []))
                times.append(line["time_s"])
                values.append(value)
    names = sorted(columns)
    lengths = [len(columns[name][0]) for name in names]
    codes = np.repeat(np.arange(len(names), dtype=np.int32), lengths)
    places = number_array(codes)
    table = pa.Table.from_arrays(
        [
            number_array(np.full(sum(lengths), cell, dtype=np.int32)),
            pa.DictionaryArray.from_arrays(places, text_array([name.split(".", 1)[0] for name in names])),
            pa.DictionaryArray.from_arrays(places, text_array([name.split(".", 1)[1] for name in names])),
            number_array(np.array([t for name in names for t in columns[name][0]], dtype=np.float64)),
            number_array(np.array([v for name in names for v in columns[name][1]], dtype=np.float64)),
        ],
        schema=SERIES_SCHEMA,
    )
    # One row group for each metric: reading one metric of hundreds of parts then decodes only that metric.
    rows = max(1, len(block)) if len(table) > SMALL_PART_ROWS else SMALL_PART_ROWS
    _write_table(table, parts / f"series-{number:05}.parquet", compression="zstd", row_group_size=rows)
    _write_histograms(cell, block, journal, parts / f"histograms-{number:05}.parquet")


def _write_histograms(cell: int, block: list[JournalLine], journal: Path, path: Path) -> None:
    rows = [(kind, line["time_s"], text) for line in block for kind, text in line.get("histograms", {}).items()]
    try:
        hdr = [base64.b64decode(text, validate=True) for _, _, text in rows]
    except ValueError as error:
        raise UserError(f"a histogram is not base64: {error}", where=str(journal)) from None
    table = pa.Table.from_arrays(
        [
            number_array(np.full(len(rows), cell, dtype=np.int32)),
            text_array([kind for kind, _, _ in rows]),
            number_array(np.array([time_s for _, time_s, _ in rows], dtype=np.float64)),
            binary_array(hdr),
        ],
        schema=HISTOGRAM_SCHEMA,
    )
    # The histograms are compressed already, each by itself.
    _write_table(table, path, compression="none")


def _write_table(table: pa.Table, path: Path, **options: Any) -> None:
    """Writes a new file. The rest of a killed run is not written to: it may be a link, or have other names."""
    path.unlink(missing_ok=True)
    pq.write_table(table, path, **options)
