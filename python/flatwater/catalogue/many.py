"""The rows of many results, read by the engine on all processors: what `read_rows` finds in each, in less time.

The engine declines what is unusual (damaged, under way, tagged, of a newer flatwater), and `read_rows` then says why.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from flatwater._engine import results_read, results_stamps
from flatwater.catalogue.index import Kept, Numbers, joined, nothing
from flatwater.catalogue.tables import TABLES, Table
from flatwater.results.arrays import number_array, text_array
from flatwater.results.foreign import is_foreign
from flatwater.results.schema import SCHEMA_VERSION

#: The buffers of a column, and of a table with the numbers of its rows' runs.
_Buffers = tuple[int, bytes, bytes | None, bytes]


def read_many(place: Path, runs: Sequence[str], young_ns: int) -> Kept:
    """The rows of those results below a folder that the engine does not decline, in their order.

    A file that changed after `young_ns` (ns since 1970) may change again unseen: the stamp of its result is empty.
    """
    # In a foreign result no link is followed, which is another way of opening files.
    if is_foreign():
        return nothing()
    found = nothing()
    for stamps, tables in results_read([f"{place}/{run}" for run in runs], young_ns, SCHEMA_VERSION):
        read = np.array([number for number, _ in stamps], dtype=np.int32)
        part = {table.name: _table(table, *tables.get(table.name, (b"", [])), read) for table in TABLES}
        kept = Kept([runs[number] for number, _ in stamps], [stamp for _, stamp in stamps], part)
        found = joined(found, kept)
    return found


def stamps_of(place: Path, runs: Sequence[str], young_ns: int) -> dict[str, str]:
    """How the files of each result below a folder are now; empty if one may change again unseen, as of `read_many`."""
    return dict(zip(runs, results_stamps([f"{place}/{run}" for run in runs], young_ns), strict=True))


def _table(table: Table, numbers: bytes, columns: Sequence[_Buffers], read: Numbers) -> pa.Table:
    """A table, whose runs get the places that they have among those that were read."""
    if not columns:
        return pa.Table.from_batches([], table.schema)
    places = np.searchsorted(read, np.frombuffer(numbers, "<i4")).astype(np.int32)
    arrays = [number_array(places)]
    arrays += [_array(column.type, *buffers) for column, buffers in zip(table.columns, columns, strict=True)]
    if table.name == "summary":
        at = table.schema.get_field_index("set")
        arrays[at] = _sorted_sets(arrays[at])
    return pa.Table.from_arrays(arrays, schema=table.schema)


def _array(kind: pa.DataType, rows: int, valid: bytes, offsets: bytes | None, values: bytes) -> pa.Array:
    stored = kind.value_type if pa.types.is_dictionary(kind) else kind
    buffers = [valid, values] if offsets is None else [valid, offsets, values]
    found = pa.Array.from_buffers(stored, rows, [pa.py_buffer(buffer) for buffer in buffers])
    return found.dictionary_encode() if pa.types.is_dictionary(kind) else found


def _sorted_sets(sets: pa.Array) -> pa.Array:
    """The swept values as `json.dumps` writes them, by name."""
    written = {text: json.dumps(json.loads(text), sort_keys=True) for text in sets.unique().to_pylist()}
    return text_array([written[text] for text in sets.to_pylist()])
