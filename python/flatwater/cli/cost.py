"""`flatwater cost`: what runs cost, for each unit of throughput, over years, and for the same load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.arguments import DocumentFile, Force, Json, read_day_option
from flatwater.cli.stores import Wanted
from flatwater.printing import make_console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from flatwater.cost import Candidate, Comparison
    from flatwater.cost.words import Column
    from flatwater.experiment.cost import CostItem

NAME = "cost"
READS = {"runs": Wanted.WHOLE}
EXAMPLES = """
[bold]Examples[/bold]

  flatwater cost results/disks results/flash       $/NOTPM, watts, years of life, the frontier

  flatwater cost results/sweep --years 5 --lines   with every line item and its source

  flatwater cost results/mine --item my-nvme=2 --item my-server=1 --prices my-prices.toml

  flatwater cost results/mine --set database.settings.innodb_buffer_pool_size=64G     a prediction beside the run

  flatwater cost results/sweep --load 200000 --out cost.html

  flatwater cost results/sweep --json | jq '.rows[] | [.name, .cost_per_unit]'
"""


def verb(
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="Result folders; each cell is a row.")],
    prices: Annotated[
        list[Path] | None,
        typer.Option("--prices", metavar="FILE", help="A price file of your own, beside ours. Repeatable."),
    ] = None,
    years: Annotated[
        float | None, typer.Option("--years", metavar="N", min=0.01, max=30, help="Cost of so many years; 3.")
    ] = None,
    item: Annotated[
        list[str] | None,
        typer.Option("--item", metavar="LINE=N", help="So many of a price line, in every row; 0: none. Repeatable."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE,...", help="A change that what-if predicts: a row. Repeatable."),
    ] = None,
    load: Annotated[
        float | None, typer.Option("--load", metavar="X", min=0, max=1e15, help="Servers for this much throughput.")
    ] = None,
    date: Annotated[
        str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="The lines nearest to this day.")
    ] = None,
    cell: Annotated[int | None, typer.Option("--cell", metavar="NUMBER", help="Only this cell of one RUN.")] = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="A frontier also of runs that differ in more.")] = False,
    lines: Annotated[bool, typer.Option("--lines", help="Print every line item with its day and source.")] = False,
    out: DocumentFile = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """What do runs cost: price, cost over years, cost of a unit of throughput, power, life, servers for a load?

    Parts are those that the experiments name; a part that none names is told with --item. Every figure traces to a
    price line with its day and source (--lines). docs/cost.md has the rules.
    """
    from flatwater.cost import Asked, compare_costs, read_book, read_price_files
    from flatwater.cost.words import as_data
    from flatwater.report.document import require_document_place

    if out is not None:
        require_document_place(out, force=force)
    told = tuple(_item(written) for written in item or ())
    day = None if date is None else read_day_option(date, "--date")
    found, differing = _candidates(runs, set_, cell)
    book = read_book(read_price_files(found, prices or []))
    asked = Asked(years, day, load or None, told, "" if anyway else differing)
    comparison = compare_costs(found, book, asked)
    if out is not None:
        from flatwater.cost.page import as_document
        from flatwater.report.document import write_document

        write_document(as_document(comparison), out, force=force)
    if as_json:
        typer.echo(json.dumps(as_data(comparison), indent=1))
        return
    _print(make_console(), comparison, lines=lines)
    if out is not None:
        typer.echo(f"written: {out}")


def _item(written: str) -> CostItem:
    """A part from `LINE=2`, or from `LINE` for one piece. Errors: UserError."""
    from flatwater.errors import UserError
    from flatwater.experiment.cost import CostItem

    name, _, text = written.rpartition("=") if "=" in written else (written, "", "1")
    try:
        quantity = float(text)
    except ValueError:
        quantity = -1.0
    if not name or not 0 <= quantity <= 1e9:
        hint = "--item LINE=QUANTITY, as in --item intel-910-400-2012=2"
        raise UserError(f"{written} is no line with a quantity", where="--item", hint=hint)
    return CostItem(line=name, quantity=quantity)


def _candidates(runs: list[str], changes: list[str] | None, cell: int | None) -> tuple[list[Candidate], str]:
    """The rows, and why they cannot be compared; empty if they can."""
    from flatwater.cost import candidates_of
    from flatwater.cost.alike import not_comparable
    from flatwater.errors import UserError
    from flatwater.results import open_result

    if (cell is not None or changes) and len(runs) > 1:
        where = "--cell" if cell is not None else "--set"
        raise UserError(f"is of one run, not of {len(runs)}", where=where, hint="give one RUN")
    results = [open_result(run) for run in runs]
    names = [result.path.resolve().name if len(results) > 1 else "" for result in results]
    found = [one for result, name in zip(results, names, strict=True) for one in candidates_of(result, name, cell)]
    if changes:
        from flatwater.cli.cost_changes import predicted

        found += predicted(runs[0], changes, cell, found[0])
    return found, not_comparable(results, alone=cell is not None)


def _table(comparison: Comparison, found: Sequence[Column]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("run", overflow="fold", min_width=12)
    for column in found:
        table.add_column(column.heading, justify="right", overflow="fold")
    for place, row in enumerate(comparison.rows):
        table.add_row(Text(row.candidate.name), *(Text(column.texts[place]) for column in found))
    return table


def _print(console: Console, comparison: Comparison, *, lines: bool) -> None:
    from flatwater.cost.words import ITEM_HEADINGS, columns, headline, item_texts, notes

    def say(text: str) -> None:
        console.print(text, soft_wrap=not console.is_terminal, markup=False, highlight=False)

    if told := headline(comparison):
        say(told)
    found = columns(comparison)
    # Two tables, because a terminal has room for half of the columns.
    for part in ([one for one in found if one.main], [one for one in found if not one.main]):
        if part:
            console.print(_table(comparison, part))
    if lines:
        for row in comparison.rows:
            say(f"{row.candidate.name}:")
            for texts in item_texts(row, comparison):
                say("  " + "; ".join(f"{heading} {text}" for heading, text in zip(ITEM_HEADINGS, texts, strict=True)))
    for text in notes(comparison):
        say(text)
    say(f"prices as of {comparison.day}; the line items: --lines")
