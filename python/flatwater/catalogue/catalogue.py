"""All runs below some folders, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from flatwater.catalogue.find import Place, find_results
from flatwater.catalogue.index import (
    RUNS_MIN,
    Kept,
    chosen,
    joined,
    nothing,
    of_rows,
    read_index,
    write_index,
    young_ns,
)
from flatwater.catalogue.many import read_many, stamps_of
from flatwater.catalogue.rows import Rows, read_rows
from flatwater.catalogue.tables import RUN
from flatwater.errors import UserError
from flatwater.results.arrays import number_array, numbers_of, text_array
from flatwater.stores import is_mirror

#: The most letters of a reason: a folder from another source may contain anything.
WHY_MAX = 300
#: What pyarrow says of a value that a column does not hold: half of a character, another type, too large a number.
_NOT_HELD = (ValueError, TypeError, OverflowError, pa.ArrowException)


@dataclass(frozen=True)
class Catalogue:
    """The runs of some folders. A run's name in it is its path, as other commands take it."""

    #: The paths of the runs.
    runs: list[str]
    #: By the names of `tables.TABLES`; the first column, `run`, is the path.
    tables: dict[str, pa.Table]
    #: Path of a result, or of a folder -> why it, or a part of it, is left out.
    left_out: dict[str, str]


def read_catalogue(paths: Sequence[Path]) -> Catalogue:
    """The runs in and below the folders. What is no sound result is left out, and named.

    Errors: UserError for a path that is no folder, or cannot be read.
    """
    kept = nothing()
    left_out: dict[str, str] = {}
    for place in find_results(paths):
        found, without = _read(place)
        left_out |= place.left_out | {place.shown(run): why for run, why in without.items()}
        named = Kept([place.shown(run) for run in found.runs], found.stamps, found.tables)
        kept = joined(kept, named)
    paths_of_runs = text_array(kept.runs)
    tables = {}
    for name, table in kept.tables.items():
        numbers = number_array(numbers_of(table[RUN]))
        names = pa.DictionaryArray.from_arrays(numbers, paths_of_runs)
        tables[name] = table.set_column(0, pa.field(RUN, names.type), names)
    return Catalogue(kept.runs, tables, left_out)


def _read(place: Place) -> tuple[Kept, dict[str, str]]:
    """The rows of a place's results, and what is left out. The index has what did not change."""
    # What was fetched from a store is gone when the process ends.
    is_indexed = len(place.found) >= RUNS_MIN and not is_mirror(place.path)
    indexed = read_index(place.path) if is_indexed else nothing()
    at = {run: number for number, run in enumerate(indexed.runs)}
    young = young_ns()
    fresh: list[int] = []
    changed: list[str] = []
    now = stamps_of(place.path, [run for run in place.found if run in at], young)
    for run in place.found:
        if now.get(run) and now[run] == indexed.stamps[at[run]]:
            fresh.append(at[run])
        else:
            changed.append(run)
    many = read_many(place.path, changed, young)
    found, left_out = many, dict[str, str]()
    if declined := sorted({*changed} - {*many.runs}):
        others, left_out = _read_each(place.path, declined, young)
        found = joined(many, others)
    is_news = any(found.stamps) or len(fresh) < len(indexed.runs)
    found = joined(chosen(indexed, fresh), found)
    if is_indexed and is_news:
        write_index(place.path, found)
    return found, left_out


def _read_each(place: Path, declined: Sequence[str], young: int) -> tuple[Kept, dict[str, str]]:
    """The rows of results that are read one by one, and what is left out of them, or of all."""
    runs: list[str] = []
    whole: set[str] = set()
    rows: list[Rows] = []
    left_out: dict[str, str] = {}
    before = stamps_of(place, declined, young)
    for run in declined:
        try:
            read = read_rows(place / run)
        except UserError as error:
            left_out[run] = str(error)
            continue
        except Exception as error:  # noqa: BLE001 - whatever lies in a folder: it takes no other result away
            left_out[run] = _damaged(error)
            continue
        if read.left_out is not None:
            left_out[run] = read.left_out
        # What is told of a result must be told the next time too.
        if not read.unfinished and read.left_out is None:
            whole.add(run)
        runs.append(run)
        rows.append(read.rows)
    # A file may have changed while it was read.
    after = stamps_of(place, runs, young)
    stamps = [before[run] if run in whole and before[run] == after[run] else "" for run in runs]
    return _tables_of(runs, stamps, rows, left_out), left_out


def _tables_of(runs: list[str], stamps: list[str], rows: list[Rows], left_out: dict[str, str]) -> Kept:
    """The rows as tables. A result with a value that no column holds is left out, and named in `left_out`."""
    try:
        return of_rows(runs, stamps, rows)
    except _NOT_HELD:
        pass
    sound = []
    for at, run in enumerate(runs):
        try:
            of_rows([run], [""], [rows[at]])
            sound.append(at)
        except _NOT_HELD as error:
            left_out[run] = _damaged(error)
    return of_rows([runs[at] for at in sound], [stamps[at] for at in sound], [rows[at] for at in sound])


def _damaged(error: Exception) -> str:
    return f"the result is damaged: {type(error).__name__}: {error}"[:WHY_MAX]
