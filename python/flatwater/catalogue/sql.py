"""Questions in SQL over the tables of a catalogue and the series of its runs. Nothing else is read, nothing written.

DuckDB gets the tables as Arrow data in memory, and no file: it runs without access to files, the network and
extensions, its settings are locked, and only a SELECT is taken. The series are an Arrow data set over the runs' Parquet
files; those of a run are opened only where the question does not exclude the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from flatwater.catalogue.catalogue import Catalogue
from flatwater.catalogue.tables import RUN, SERIES, TABLES
from flatwater.errors import FlatwaterError, UserError
from flatwater.results.sealed import UNREADABLE, check_series
from flatwater.stores import behind

if TYPE_CHECKING:
    import duckdb

#: The tables of a question.
VIEWS = (*TABLES, SERIES)
#: Rows that are fetched at once.
ROWS = 10_000
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    # What does not fit into memory fails: nothing is written beside the user's files.
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
#: Where an error of DuckDB's shows the question again, and what kind it is, in its own words.
_SHOWN_AGAIN = re.compile(r"\n\s*\nLINE \d+:.*", re.DOTALL)
_KIND = re.compile(r"^\w+(?: \w+)* Error: ")
_HINT = "flatwater query --schema lists the tables"


@dataclass
class Answer:
    """The rows of a question, as they are fetched."""

    columns: list[str]
    #: Whether a column holds numbers.
    numeric: list[bool]
    rows: Iterator[tuple[Any, ...]]
    #: Path of a run -> why its series are left out.
    left_out: dict[str, str] = field(default_factory=dict)


def ask(catalogue: Catalogue, question: str) -> Answer:
    """The answer to a SELECT over `VIEWS`.

    Errors: UserError for anything else than one SELECT, and for SQL that is wrong; FlatwaterError where the answer does
    not fit into memory.
    """
    import duckdb

    try:
        question.encode()
    except UnicodeEncodeError:
        raise UserError("it is not UTF-8 text", where="SQL", hint=_HINT) from None
    files = _series_files(catalogue) if re.search(SERIES.name, question, re.IGNORECASE) else {}
    left_out: dict[str, str] = {}
    while True:
        connection = _connection(catalogue, files)
        try:
            return _answer(connection, question, left_out)
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            # A damaged file is named only by opening each: that is done only when a question fails.
            damaged = _damaged(files)
            if not damaged:
                raise _told(error) from None
            left_out |= damaged
            files = {run: some for run, some in files.items() if run not in damaged}


def _connection(catalogue: Catalogue, files: dict[str, list[str]]) -> duckdb.DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect(config=_CONFIG)
    for name, table in catalogue.tables.items():
        connection.register(name, table)
    connection.register(SERIES.name, _series(files))
    # It would be drawn into the answer.
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _answer(connection: duckdb.DuckDBPyConnection, question: str, left_out: dict[str, str]) -> Answer:
    import duckdb

    statements = connection.extract_statements(question)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        what = "one SELECT is taken" if statements else "there is no question in it"
        raise UserError(what, where="SQL", hint='flatwater query "select run, mean from summary"')
    connection.execute(statements[0])
    described = connection.description or []
    first = connection.fetchmany(ROWS)

    def rows() -> Iterator[tuple[Any, ...]]:
        some = first
        while some:
            yield from some
            try:
                some = connection.fetchmany(ROWS)
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                raise _told(error) from None

    numeric = [str(one[1]).upper().partition("(")[0] in _NUMBERS for one in described]
    return Answer(_distinct([str(one[0]) for one in described]), numeric, rows(), left_out)


_NUMBERS = frozenset(
    ["NUMBER", "DECIMAL", "DOUBLE", "FLOAT", "HUGEINT", "UHUGEINT"]
    + [f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG")]
    + ["INTEGER", "UINTEGER"]
)


def _distinct(names: Sequence[str]) -> list[str]:
    """The names of the columns; one that is there already gets a number: an object of JSON has each once."""
    found: list[str] = []
    for name in names:
        number = 1
        unique = name
        while unique in found:
            number += 1
            unique = f"{name}_{number}"
        found.append(unique)
    return found


def _told(error: Exception) -> FlatwaterError:
    """DuckDB's error in one line, without the question, and without what DuckDB would allow elsewhere."""
    import duckdb

    if isinstance(error, duckdb.InterruptException):
        raise KeyboardInterrupt from None
    text = _KIND.sub("", _SHOWN_AGAIN.sub("", str(error))).strip()
    if isinstance(error, duckdb.PermissionException) or "disabled by configuration" in text:
        return UserError("it may read the tables of flatwater only, and no files", where="SQL", hint=_HINT)
    if isinstance(error, duckdb.OutOfMemoryException):
        return FlatwaterError("the answer does not fit into memory", where="SQL", hint="aggregate, or choose runs")
    return UserError(text[:400], where="SQL", hint=_HINT)


def _series_files(catalogue: Catalogue) -> dict[str, list[str]]:
    """The Parquet files with the series of each run: one, or the parts of a run that did not end."""
    found = {}
    for run in catalogue.runs:
        merged = behind(run) / "series.parquet"
        if merged.is_file():
            found[run] = [str(merged)]
        elif parts := sorted(behind(run).glob("cells/[0-9]*/series-[0-9]*.parquet")):
            found[run] = [str(part) for part in parts]
    return found


def _series(files: dict[str, list[str]]) -> pa.Table | Any:
    schema = pa.schema([pa.field(RUN, pa.string()), *SERIES.own])
    pairs = [(run, file) for run, some in files.items() for file in some]
    if not pairs:
        return pa.Table.from_batches([], schema)
    # Here, because it takes a part of a second, and few questions are of series.
    import pyarrow.dataset as dataset
    import pyarrow.fs as fs

    kind, local = dataset.ParquetFileFormat(), fs.LocalFileSystem()
    found = dataset.FileSystemDataset.from_paths(
        [file for _, file in pairs],
        schema=schema,
        format=kind,
        filesystem=local,
        # Each file is known to be of its run, so that files of others are not opened.
        partitions=[dataset.field(RUN) == run for run, _ in pairs],
    )

    class Checked(dataset.FileSystemDataset):  # type: ignore[misc] # pyarrow has no types for it
        """The files, of which each that a question reads is checked first: a few bytes may tell of billions of rows."""

        def scanner(self, *arguments: Any, **named: Any) -> Any:
            """What DuckDB reads. Errors: `UNREADABLE`."""
            for fragment in self.get_fragments(named.get("filter")):
                check_series(Path(fragment.path))
            return super().scanner(*arguments, **named)

    return Checked(list(found.get_fragments()), schema, kind, local)


def _damaged(files: dict[str, list[str]]) -> dict[str, str]:
    """The runs with a file that is not one of series, and why."""
    found = {}
    for run, some in files.items():
        for file in some:
            try:
                _read_whole(Path(file))
            except UNREADABLE as error:
                found[run] = f"its series: {Path(file).name}: {error}"
    return found


def _read_whole(file: Path) -> None:
    """Reads all of a file of series. Errors: `UNREADABLE`."""
    import pyarrow.parquet as parquet

    check_series(file)
    with parquet.ParquetFile(file) as opened:
        for group in range(opened.num_row_groups):
            opened.read_row_group(group)
