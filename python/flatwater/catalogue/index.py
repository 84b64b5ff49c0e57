"""The index: what was read of the results below a folder, kept so that ten thousand of them need not be read again.

It is in the user's cache folder (`FLATWATER_CACHE_DIR`, else `XDG_CACHE_HOME/flatwater`, else `~/.cache/flatwater`),
never among the results. A result's rows are taken from it only if the inode, size, time of modification and time of
change of every file that they came from are those of now. An index that is damaged, or that cannot be written, costs
time and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from flatwater.catalogue.rows import Rows
from flatwater.catalogue.tables import RUN, TABLES
from flatwater.owned import write_atomic
from flatwater.results.arrays import number_array, numbers_of, text_array
from flatwater.results.schema import SCHEMA_VERSION

#: Changes of the tables' meaning make older indexes worthless.
VERSION = 2
#: Fewer results are read each time: it takes less than a tenth of a second.
RUNS_MIN = 50
#: A file that changed so shortly before it was read may change again in the same tick of the file system's clock.
YOUNG_NS = 2_000_000_000

Numbers = np.ndarray[Any, np.dtype[np.int32]]

_HEAD = pa.schema(
    [pa.field(RUN, pa.string()), pa.field("stamp", pa.string())],
    metadata={"flatwater-index": f"{VERSION}.{SCHEMA_VERSION}"},
)


@dataclass(frozen=True)
class Kept:
    """The rows of several results: `runs[i]` is the path of run `i`, relative to the folder of all."""

    runs: list[str]
    #: How the files of each were when they were read; empty for what must be read again next time.
    stamps: list[str]
    tables: dict[str, pa.Table]


def nothing() -> Kept:
    """The rows of no result."""
    return Kept([], [], {table.name: pa.Table.from_batches([], table.schema) for table in TABLES})


def of_rows(runs: list[str], stamps: list[str], rows: Iterable[Rows]) -> Kept:
    """Rows that were just read, as tables."""
    found: dict[str, list[tuple[object, ...]]] = {table.name: [] for table in TABLES}
    numbers: dict[str, list[int]] = {table.name: [] for table in TABLES}
    for number, of_run in enumerate(rows):
        for name, some in of_run.items():
            found[name] += some
            numbers[name] += [number] * len(some)
    tables = {}
    for table in TABLES:
        columns = list(zip(*found[table.name], strict=True)) or [()] * len(table.columns)
        arrays = [pa.array(numbers[table.name], pa.int32())]
        arrays += [pa.array(column, one.type) for column, one in zip(columns, table.columns, strict=True)]
        tables[table.name] = pa.Table.from_arrays(arrays, schema=table.schema)
    return Kept(runs, stamps, tables)


def chosen(kept: Kept, places: list[int]) -> Kept:
    """The rows of some of the runs, which are numbered anew in this order."""
    number = np.full(len(kept.runs), -1, dtype=np.int32)
    number[places] = np.arange(len(places), dtype=np.int32)
    tables = {}
    for name, table in kept.tables.items():
        numbers = number[numbers_of(table[RUN])]
        wanted = numbers >= 0
        if not wanted.all():
            table, numbers = table.take(number_array(np.flatnonzero(wanted).astype(np.int32))), numbers[wanted]
        tables[name] = table.set_column(0, table.schema.field(RUN), number_array(numbers))
    return Kept([kept.runs[at] for at in places], [kept.stamps[at] for at in places], tables)


def joined(first: Kept, second: Kept) -> Kept:
    """The rows of both; the runs of the second come after those of the first."""
    if not first.runs:
        return second
    tables = {}
    for name, table in second.tables.items():
        numbers = number_array(numbers_of(table[RUN]) + np.int32(len(first.runs)))
        moved = table.set_column(0, table.schema.field(RUN), numbers)
        tables[name] = pa.concat_tables([first.tables[name], moved])
    return Kept(first.runs + second.runs, first.stamps + second.stamps, tables)


def read_index(folder: Path) -> Kept:
    """The index of a folder; nothing where there is none, or where it is of another version or damaged."""
    try:
        with pa.memory_map(str(_file(folder))) as source:
            head = pa.ipc.open_stream(source).read_all()
            if head.schema.metadata != _HEAD.metadata or not head.schema.equals(_HEAD):
                return nothing()
            tables = {table.name: pa.ipc.open_stream(source).read_all() for table in TABLES}
            kept = Kept(head[RUN].to_pylist(), head["stamp"].to_pylist(), tables)
            return kept if _is_sound(kept) else nothing()
    except (OSError, ValueError, pa.ArrowException):
        return nothing()


def _is_sound(kept: Kept) -> bool:
    for table in TABLES:
        found = kept.tables[table.name]
        found.validate(full=True)
        if not found.schema.equals(table.schema) or found[RUN].null_count:
            return False
        numbers = numbers_of(found[RUN])
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(kept.runs):
            return False
    return len(kept.tables["runs"]) == len(kept.runs)


def write_index(folder: Path, kept: Kept) -> None:
    """Replaces the index of a folder, if its place can be written."""
    written = BytesIO()
    _write(written, pa.Table.from_arrays([text_array(kept.runs), text_array(kept.stamps)], schema=_HEAD))
    for table in TABLES:
        _write(written, kept.tables[table.name].unify_dictionaries().combine_chunks())
    file = _file(folder)
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(file, written.getvalue(), durable=False)


def _write(written: BytesIO, table: pa.Table) -> None:
    with pa.ipc.new_stream(written, table.schema) as stream:
        stream.write_table(table)


def _file(folder: Path) -> Path:
    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]
    return _cache_folder(os.environ) / "runs" / f"{name}.arrow"


def _cache_folder(environment: Mapping[str, str]) -> Path:
    if own := environment.get("FLATWATER_CACHE_DIR"):
        return Path(own)
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flatwater"


def young_ns() -> int:
    """Files that changed after this time are too young now: ns of the clock that files are stamped with."""
    return time.time_ns() - YOUNG_NS
