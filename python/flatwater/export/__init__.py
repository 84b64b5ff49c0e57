"""A result for other programs: its cells and its series, in one file or in a file each. The result is not changed.

content.py      what is exported
tables.py       CSV and Parquet
json_text.py    JSON
openmetrics.py  OpenMetrics text
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flatwater.errors import FlatwaterError, UserError
from flatwater.export import json_text, openmetrics, tables
from flatwater.export.tables import TABLES
from flatwater.owned import make_folder, unwritten, write_atomic, write_new
from flatwater.results import Result
from flatwater.spelling import suggest

Pieces = Callable[[Result, str], Iterator[bytes] | Iterator[str]]


@dataclass(frozen=True)
class Format:
    """A format: how the names of its files end, the first ending being that of the files in a folder."""

    endings: tuple[str, ...]
    #: The content of one of the tables.
    pieces: Pieces
    #: Whether one file has all tables.
    whole: bool = False


FORMATS: dict[str, Format] = {
    "csv": Format((".csv",), tables.csv_pieces),
    "parquet": Format((".parquet",), tables.parquet_pieces),
    "json": Format((".json",), lambda result, _: json_text.pieces(result), whole=True),
    "openmetrics": Format((".prom", ".om", ".txt"), lambda result, _: openmetrics.pieces(result), whole=True),
}


def export(
    result: Result, to: Path, *, format_name: str | None = None, table: str | None = None, overwrite: bool = False
) -> list[Path]:
    """Writes a result to `to`: a file if its name ends as those of a format, otherwise a folder. Returns the files.

    `format_name`: one of `FORMATS`; None for that of the file's name. `table`: `summary` or `series`, for formats with
    a file each: None for both in a folder, and for the series in a file. A file that is there is replaced only with
    `overwrite`, and only as a whole.

    Errors: UserError for a wrong name, or a file that is there; FlatwaterError where the result is damaged or the disk
    is full: nothing half written is left then.
    """
    endings = {ending: name for name, one in FORMATS.items() for ending in one.endings}
    named = endings.get(to.suffix.lower()) if not to.is_dir() else None
    chosen = format_name or named
    if chosen is None:
        hint = f"--format {', '.join(FORMATS)}, or a name that ends in {', '.join(endings)}"
        raise UserError("in which format?", where=f"--to {to}", hint=hint)
    if chosen not in FORMATS:
        raise UserError(f"there is no format {chosen!r}", where="--format", hint=suggest(chosen, tuple(FORMATS)))
    if table is not None and (table not in TABLES or FORMATS[chosen].whole):
        what = f"{chosen} has all tables in one file" if table in TABLES else f"there is no table {table!r}"
        raise UserError(what, where="--table", hint="summary or series, of csv and parquet")
    files = _files(to, FORMATS[chosen], table, is_file=to.suffix.lower() in FORMATS[chosen].endings and not to.is_dir())
    for path in files.values():
        _require_free(path, result, overwrite=overwrite)
    folder = to if to not in files.values() else to.parent
    make_folder(folder, f"--to {folder}")
    for name, path in files.items():
        _write(path, FORMATS[chosen].pieces(result, name), overwrite=overwrite)
    return list(files.values())


def _files(to: Path, chosen: Format, table: str | None, *, is_file: bool) -> dict[str, Path]:
    """Table -> the file that it goes to."""
    if is_file:
        return {table or "series": to}
    if chosen.whole:
        return {"result": to / f"result{chosen.endings[0]}"}
    return {name: to / f"{name}{chosen.endings[0]}" for name in TABLES if table in (None, name)}


def _require_free(path: Path, result: Result, *, overwrite: bool) -> None:
    with suppress(OSError):
        if path.parent.resolve().is_relative_to(result.path.resolve()):
            # `series.parquet` there is what was measured.
            raise UserError("is in the result itself", where=f"--to {path}", hint="name a place outside of it")
        if path.is_dir():
            raise UserError("is a folder", where=f"--to {path}", hint="name a file, or a folder that is not in the way")
        if path.exists() and not overwrite:
            raise UserError("is there already", where=f"--to {path}", hint="another name, or --overwrite")


def _write(path: Path, pieces: Iterator[bytes] | Iterator[str], *, overwrite: bool) -> None:
    try:
        if overwrite:
            write_atomic(path, pieces, durable=False)
        else:
            write_new(path, pieces)
    except FileExistsError:
        raise UserError("is there already", where=f"--to {path}", hint="another name, or --overwrite") from None
    except OSError as error:
        told = unwritten("cannot write it", error, f"--to {path}")
        raise FlatwaterError(told.what, where=told.where, hint=told.hint) from None
