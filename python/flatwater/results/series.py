"""Series on disk: journal lines become Parquet sorted by (cell, layer, metric, time)."""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flatwater.errors import UserError
from flatwater.results.schema import JournalLine

#: Journal lines in one sorted part: bounds the memory for sealing a run of days.
PART_LINES = 3600
#: A part with at most this many rows is one group: a second group would cost more than it saves.
SMALL_PART_ROWS = 4096
#: The minimum of rows in a row group of a part, if there are so many: about a whole block of one metric.
SHARED_GROUP_ROWS = 4096
#: Decoded row groups that are kept while reading (about 3 MB each): enough to read along a cell.
DECODED_GROUPS_MAX = 4
#: Files that are kept open while reading: the parts of a cell of twelve days, far below the usual limit of 1024.
OPEN_FILES_MAX = 320
#: Writers may shorten statistics of texts (64 bytes is common), so longer statistics prove nothing.
STATISTICS_TEXT_MAX = 64

#: Exceptions for a damaged Parquet file.
UNREADABLE = (OSError, ValueError, pa.ArrowException)

#: (cell, layer, metric)
Key = tuple[int, str, str]

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
        # Non-blocking, because opening a FIFO with this name would wait for its writer.
        handle = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UserError(f"cannot read it: {error.strerror}", where=str(path)) from None
    if not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
        handle.close()
        raise UserError("it is not a file", where=str(path), hint="move it away")
    return handle


def read_journal(path: Path) -> Iterator[JournalLine]:
    """The complete lines of a journal. It ends at a torn last line, which a killed run may have left."""
    try:
        handle = open_journal(path)
    except FileNotFoundError:
        return
    with handle:
        for number, raw in enumerate(handle, 1):
            if not raw.endswith(b"\n"):
                return
            yield journal_line(raw, number, path)


def journal_line(raw: bytes, number: int, path: Path) -> JournalLine:
    """A whole line of a journal; `number` counts from 1. Errors: UserError if no run wrote such a line."""
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"line {number} is not JSON: {error}",
            where=str(path),
            hint="the result was damaged after it was written; a resumed run keeps it aside",
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
    layers = pa.array([name.split(".", 1)[0] for name in names], pa.string())
    metrics = pa.array([name.split(".", 1)[1] for name in names], pa.string())
    table = pa.table(
        [
            pa.array(np.full(sum(lengths), cell, dtype=np.int32)),
            pa.DictionaryArray.from_arrays(codes, layers),
            pa.DictionaryArray.from_arrays(codes, metrics),
            pa.array(np.array([t for name in names for t in columns[name][0]], dtype=np.float64)),
            pa.array(np.array([v for name in names for v in columns[name][1]], dtype=np.float64)),
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
    table = pa.table(
        [
            pa.array(np.full(len(rows), cell, dtype=np.int32)),
            pa.array([kind for kind, _, _ in rows], pa.string()),
            pa.array([time_s for _, time_s, _ in rows], pa.float64()),
            pa.array(hdr, pa.binary()),
        ],
        schema=HISTOGRAM_SCHEMA,
    )
    # The histograms are compressed already, each by itself.
    _write_table(table, path, compression="none")


def _write_table(table: pa.Table, path: Path, **options: Any) -> None:
    """Writes a new file. The rest of a killed run is not written to: it may be a link, or have other names."""
    path.unlink(missing_ok=True)
    pq.write_table(table, path, **options)


@dataclass(frozen=True)
class _Group:
    """The guarantee of a Parquet row group's statistics: every row is between `low` and `high`."""

    low: Key
    high: Key

    @property
    def key(self) -> Key | None:
        """The only series of the group; None if the statistics do not show that there is only one."""
        return self.low if self.low == self.high else None

    def may_hold(self, key: Key) -> bool:
        low, high = self.low, self.high
        return low[0] <= key[0] <= high[0] and low[1] <= key[1] <= high[1] and low[2] <= key[2] <= high[2]


class _SeriesFile:
    """An open Parquet file of series, whose row groups are found by their statistics.

    A series of days fills whole row groups, which are read without the key columns. Short series share a row group,
    which is decoded once and kept, because its other series are usually read next.
    """

    def __init__(self, path: Path) -> None:
        metadata = pq.read_metadata(path)
        schema = metadata.schema.to_arrow_schema()
        if schema.names != SERIES_SCHEMA.names or schema.types[3:] != SERIES_SCHEMA.types[3:]:
            raise ValueError(f"{path.name} has not the columns of a series ({', '.join(SERIES_SCHEMA.names)})")
        self.parquet = pq.ParquetFile(path, metadata=metadata, read_dictionary=["layer", "metric"])
        self.groups = [_promise(metadata.row_group(index)) for index in range(metadata.num_row_groups)]

    def keys(self, cell: int) -> Iterator[Key]:
        for index, group in enumerate(self.groups):
            if group is None or group.low[0] <= cell <= group.high[0]:
                if group is not None and group.key is not None:
                    yield group.key
                else:
                    yield from (key for key, _ in self.runs(index) if key[0] == cell)

    def read(self, wanted: Key) -> Iterator[Series]:
        for index, group in enumerate(self.groups):
            if group is not None and group.key is not None:
                if group.key == wanted:
                    table = self.parquet.read_row_group(index, columns=["time_s", "value"])
                    yield Series(table["time_s"].to_numpy(), table["value"].to_numpy())
            elif group is None or group.may_hold(wanted):
                yield from (series for key, series in self.runs(index) if key == wanted)

    def runs(self, index: int) -> list[tuple[Key, Series]]:
        """The series of one row group, in their order."""
        return _decode(self, index)


@lru_cache(maxsize=DECODED_GROUPS_MAX)
def _decode(file: _SeriesFile, index: int) -> list[tuple[Key, Series]]:
    return _runs(file.parquet.read_row_group(index))


def _promise(group: Any) -> _Group | None:
    low, high = [], []
    for column in range(3):
        statistics = group.column(column).statistics
        if statistics is None or not statistics.has_min_max:
            return None
        low.append(statistics.min)
        high.append(statistics.max)
    if any(isinstance(text, str) and len(text) >= STATISTICS_TEXT_MAX for text in low + high):
        return None
    return _Group((low[0], low[1], low[2]), (high[0], high[1], high[2]))


def _runs(table: pa.Table) -> list[tuple[Key, Series]]:
    # In a damaged file, indices may be outside of its dictionaries.
    table.validate(full=True)
    table = table.combine_chunks()
    if not len(table):
        return []
    cells = table["cell"].to_numpy()
    layers, metrics = (cast("Any", table[name].chunk(0)) for name in ("layer", "metric"))
    codes = [cells, layers.indices.to_numpy(), metrics.indices.to_numpy()]
    changes = np.flatnonzero(np.logical_or.reduce([np.diff(code) != 0 for code in codes])) + 1
    times, values = table["time_s"].to_numpy(), table["value"].to_numpy()
    layer_names, metric_names = layers.dictionary.to_pylist(), metrics.dictionary.to_pylist()
    bounds = [0, *changes.tolist(), len(table)]
    return [
        (
            (int(cells[low]), layer_names[codes[1][low]], metric_names[codes[2][low]]),
            Series(times[low:up], values[low:up]),
        )
        for low, up in pairwise(bounds)
    ]


@lru_cache(maxsize=OPEN_FILES_MAX)
def _open(path: Path, size: int, changed_ns: int) -> _SeriesFile:
    return _SeriesFile(path)


def _opened(path: Path) -> _SeriesFile:
    """The file. It stays open as long as the file on disk is the same."""
    found = path.stat()
    return _open(path, found.st_size, found.st_mtime_ns)


def list_metrics(files: list[Path], cell: int) -> list[tuple[str, str]]:
    """The (layer, metric) pairs of a cell, sorted."""
    return sorted({(layer, metric) for file in files for at, layer, metric in _opened(file).keys(cell) if at == cell})


def read_series(files: list[Path], cell: int, layer: str, metric: str) -> Series:
    """One metric of one cell from sealed files; row groups of others are skipped by their statistics."""
    found = [series for file in files for series in _opened(file).read((cell, layer, metric))]
    if not found:
        return EMPTY
    if len(found) == 1:
        return found[0]
    return Series(np.concatenate([one.time_s for one in found]), np.concatenate([one.value for one in found]))
