"""Sealed series: reading one metric of one cell from Parquet. What a file says of itself is never trusted.

A row of a column that does not change costs a file nothing, and memory as any other: what is read is bounded by what a
run can have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flatwater.results.arrays import numbers_of
from flatwater.results.foreign import open_regular
from flatwater.results.series import EMPTY, SERIES_SCHEMA, Series

#: Rows of a row group at most: flatwater writes an eighth of that (`merging.ROW_GROUP_ROWS`).
GROUP_ROWS_MAX = 1 << 20
#: Series that share a row group at most: each of flatwater's rows may be one of its own.
GROUP_SERIES_MAX = 1 << 18
#: Bytes of a row group when it is decompressed; flatwater's have some 3 MB.
GROUP_BYTES_MAX = 64 << 20
#: Samples of one metric of one cell at most: half a year of seconds.
SERIES_ROWS_MAX = 1 << 24
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
        with open_regular(path) as handle:
            # The file that was opened, whatever has its name meanwhile.
            opened = f"/proc/self/fd/{handle.fileno()}"
            metadata = pq.read_metadata(opened)
            _require_series(metadata, path.name)
            self.parquet = pq.ParquetFile(opened, metadata=metadata, read_dictionary=["layer", "metric"])
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
                    _require_whole(table)
                    yield Series(numbers_of(table["time_s"]), numbers_of(table["value"]))
            elif group is None or group.may_hold(wanted):
                yield from (series for key, series in self.runs(index) if key == wanted)

    def runs(self, index: int) -> list[tuple[Key, Series]]:
        """The series of one row group, in their order."""
        return _decode(self, index)


def check_series(path: Path) -> None:
    """Refuses what is no file of series that a run wrote, by what it says of itself. Errors: `UNREADABLE`."""
    with open_regular(path) as handle:
        _require_series(pq.read_metadata(f"/proc/self/fd/{handle.fileno()}"), path.name)


def _require_series(metadata: Any, name: str) -> None:
    """Refuses a file that has not the columns of series, or more rows than a run writes. Errors: ValueError."""
    schema = metadata.schema.to_arrow_schema()
    if schema.names != SERIES_SCHEMA.names or not all(map(_is_of, schema.types, SERIES_SCHEMA.types)):
        raise ValueError(f"{name} has not the columns of a series ({', '.join(SERIES_SCHEMA.names)})")
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        if group.num_rows > GROUP_ROWS_MAX or group.total_byte_size > GROUP_BYTES_MAX:
            raise ValueError(f"{name} has {group.num_rows:,} rows in one group, which no run writes")


def _is_of(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a column has the type of ours. Texts may be stored with or without a dictionary."""
    texts = (pa.types.is_string, pa.types.is_large_string)
    if pa.types.is_dictionary(wanted):
        plain = cast("Any", found).value_type if pa.types.is_dictionary(found) else found
        return any(is_text(plain) for is_text in texts)
    return bool(found == wanted)


def _require_whole(table: pa.Table) -> None:
    """Errors: ValueError for a table in which something is missing: no run leaves a hole."""
    if any(column.null_count for column in table.columns):
        raise ValueError("a value is missing in it")


@lru_cache(maxsize=DECODED_GROUPS_MAX)
def _decode(file: _SeriesFile, index: int) -> list[tuple[Key, Series]]:
    return _runs(file.parquet.read_row_group(index))


def _promise(group: Any) -> _Group | None:
    low, high = [], []
    for column in range(3):
        statistics = group.column(column).statistics
        if statistics is None or not statistics.has_min_max or statistics.null_count:
            return None
        low.append(statistics.min)
        high.append(statistics.max)
    if any(isinstance(text, str) and len(text) >= STATISTICS_TEXT_MAX for text in low + high):
        return None
    return _Group((low[0], low[1], low[2]), (high[0], high[1], high[2]))


def _runs(table: pa.Table) -> list[tuple[Key, Series]]:
    # In a damaged file, indices may be outside of its dictionaries.
    table.validate(full=True)
    _require_whole(table)
    table = table.combine_chunks()
    if not len(table):
        return []
    cells = numbers_of(table["cell"])
    layers, metrics = (cast("Any", table[name].chunk(0)) for name in ("layer", "metric"))
    codes = [cells, numbers_of(layers.indices), numbers_of(metrics.indices)]
    changes = np.flatnonzero(np.logical_or.reduce([np.diff(code) != 0 for code in codes])) + 1
    if len(changes) >= GROUP_SERIES_MAX:
        raise ValueError(f"a group has {len(changes) + 1:,} series, which no run writes")
    times, values = numbers_of(table["time_s"]), numbers_of(table["value"])
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


def list_metrics(files: Sequence[Path], cell: int) -> list[tuple[str, str]]:
    """The (layer, metric) pairs of a cell, sorted. Errors: `UNREADABLE`."""
    return sorted({(layer, metric) for file in files for at, layer, metric in _opened(file).keys(cell) if at == cell})


def read_series(files: Sequence[Path], cell: int, layer: str, metric: str) -> Series:
    """One metric of one cell from sealed files; row groups of others are skipped by their statistics.

    Errors: `UNREADABLE`.
    """
    found: list[Series] = []
    rows = 0
    for file in files:
        for series in _opened(file).read((cell, layer, metric)):
            rows += len(series)
            if rows > SERIES_ROWS_MAX:
                raise ValueError(f"{layer}.{metric} has more than {SERIES_ROWS_MAX:,} samples, which no run has")
            found.append(series)
    if not found:
        return EMPTY
    if len(found) == 1:
        return found[0]
    return Series(np.concatenate([one.time_s for one in found]), np.concatenate([one.value for one in found]))
