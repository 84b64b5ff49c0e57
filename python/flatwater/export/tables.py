"""CSV and Parquet: the cells in a file, and the series in another."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from flatwater.export.content import SERIES_SCHEMA, SUMMARY_SCHEMA, recorded, summary_table
from flatwater.results import Result

#: What each file has, by its name.
TABLES = ("summary", "series")


def csv_pieces(result: Result, table: str) -> Iterator[bytes]:
    """One of the `TABLES` as CSV (RFC 4180, UTF-8, with a heading): an unknown value is empty."""
    yield _csv(_schema(table).empty_table(), heading=True)
    for piece in _pieces(result, table):
        yield _csv(piece, heading=False)


def _csv(table: pa.Table, *, heading: bool) -> bytes:
    written = io.BytesIO()
    pyarrow.csv.write_csv(table, written, pyarrow.csv.WriteOptions(include_header=heading))
    return written.getvalue()


def parquet_pieces(result: Result, table: str) -> Iterator[bytes]:
    """One of the `TABLES` as Parquet. Each series is a group of rows of its own, which readers skip by statistics."""
    written = io.BytesIO()
    with pyarrow.parquet.ParquetWriter(_Appended(written), _schema(table), compression="zstd") as writer:
        for piece in _pieces(result, table):
            if piece.num_rows:
                writer.write_table(piece)
                yield _taken(written)
    yield _taken(written)


class _Appended(io.RawIOBase):
    """A file that is only ever added to: what was taken from it still counts in its position."""

    def __init__(self, kept: io.BytesIO) -> None:
        self._kept = kept
        self._at = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        count = self._kept.write(bytes(data))  # type: ignore[call-overload]
        self._at += count
        return count

    def tell(self) -> int:
        return self._at


def _taken(kept: io.BytesIO) -> bytes:
    data = kept.getvalue()
    kept.seek(0)
    kept.truncate()
    return data


def _pieces(result: Result, table: str) -> Iterator[pa.Table]:
    if table == "summary":
        yield summary_table(result)
    else:
        yield from (one.as_table() for one in recorded(result))


def _schema(table: str) -> pa.Schema:
    return SUMMARY_SCHEMA if table == "summary" else SERIES_SCHEMA
