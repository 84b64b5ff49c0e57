"""`flatwater query`: questions in SQL over all runs below a folder."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.stores import Wanted

if TYPE_CHECKING:
    from flatwater.catalogue.sql import Answer

NAME = "query"
READS = {"folders": Wanted.ALL}
EXAMPLES = """
[bold]Examples[/bold]

  flatwater query --schema          the tables, their columns and units

  flatwater query "select run, verdict, mean, unit from summary order by mean desc limit 10"

  flatwater query --in results "select kernel, avg(mean) from summary join machine using (run) group by kernel" --csv

  flatwater query "select run, max(value) from series where metric = 'checkpoint_age_bytes' group by run" --json
"""


def verb(
    question: Annotated[
        str | None, typer.Argument(metavar="SQL", help="One SELECT, in the words of DuckDB.", show_default=False)
    ] = None,
    folders: Annotated[
        list[Path] | None,
        typer.Option(
            "--in",
            metavar="DIR",
            help="Results, or folders of them, up to four levels deep (default: this folder). Repeatable.",
        ),
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="List the tables, their columns and units instead.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array, one object a row.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV with a heading.")] = False,
) -> None:
    """Ask all runs below a folder in SQL: their summaries, metrics, events, machines, tags and series.

    Each table has the run's path in its column `run`. The question can read these tables and nothing else, and change
    nothing.
    """
    from flatwater.catalogue.sql import ask
    from flatwater.cli.catalogues import runs_below, tell_left_out
    from flatwater.errors import UserError

    if as_json and as_csv:
        raise UserError("is one form, and --json is another", where="--csv", hint="one at a time")
    if schema:
        answer = _schema()
    elif question is None:
        hint = 'flatwater query "select run, mean from summary"; --schema lists the tables'
        raise UserError("which question?", where="SQL", hint=hint)
    else:
        answer = ask(runs_below(folders), question)
        tell_left_out(answer.left_out)
    if as_json:
        _print_json(answer)
    elif as_csv:
        _print_csv(answer)
    else:
        _print_table(answer)


def _schema() -> Answer:
    """The columns of all tables, as an answer has its rows."""
    from flatwater.catalogue import RUN
    from flatwater.catalogue.sql import VIEWS, Answer

    def rows() -> Iterator[tuple[str, ...]]:
        for table in VIEWS:
            yield table.name, RUN, "string", "", f"the path of the run; a row is {table.about}"
            for column in table.columns:
                kind = str(column.type)
                yield table.name, column.name, "string" if "dictionary" in kind else kind, column.unit, column.about

    return Answer(["table", "column", "type", "unit", "about"], [False] * 5, rows())


def _print_json(answer: Answer) -> None:
    # Row after row, so that an answer of millions need not fit into memory.
    between = "["
    for row in answer.rows:
        told = {name: _as_json(value) for name, value in zip(answer.columns, row, strict=True)}
        typer.echo(f"{between}{json.dumps(told, allow_nan=False)}", nl=False)
        between = ",\n"
    typer.echo("[]" if between == "[" else "]")


def _as_json(value: object) -> object:
    """A value of SQL as JSON has it: not a number is null, times are ISO 8601, what has no form in JSON is text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [_as_json(one) for one in value]
    if isinstance(value, dict):
        return {str(name): _as_json(one) for name, one in value.items()}
    return value.hex() if isinstance(value, bytes) else str(value)


def _print_csv(answer: Answer) -> None:
    from flatwater.printing import print_data

    heading: list[object] = [*answer.columns]
    for row in chain([heading], _texts(answer.rows)):
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(row)
        # A path is what other commands take: as it is, unless a person reads it.
        print_data(line.getvalue())


def _texts(rows: Iterable[tuple[object, ...]]) -> Iterator[list[object]]:
    for row in rows:
        told = (_as_json(value) for value in row)
        yield [json.dumps(one) if isinstance(one, list | dict) else "" if one is None else one for one in told]


def _print_table(answer: Answer) -> None:
    from flatwater.cli.columns import table_lines, terminal_width

    rows = [[_shown(_as_json(value)) for value in row] for row in answer.rows]
    right = [place for place, numeric in enumerate(answer.numeric) if numeric]
    widest = max(
        (place for place in range(len(answer.columns)) if place not in right),
        key=lambda place: max((len(row[place]) for row in rows), default=0),
        default=None,
    )
    width = terminal_width()
    typer.echo("\n".join(table_lines(answer.columns, rows, right=right, elastic=widest, width=width)))


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.0f}"
    return "-" if value is None else value if isinstance(value, str) else json.dumps(value)
