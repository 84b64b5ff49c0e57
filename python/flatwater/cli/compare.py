"""`flatwater compare`: results side by side, with error bars."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from flatwater.analysis.compare import Comparison, Row, Side

NAME = "compare"
EXAMPLES = """
[bold]Examples[/bold]

  flatwater compare before after          is the second faster?

  flatwater compare ext4 xfs btrfs        the first is the baseline

  flatwater compare old new --json | jq '.rows[].ratio'
"""


def verb(
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULT", help="Two or more result folders; the first is the baseline.")
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object, and nothing else, on standard output.")
    ] = False,
) -> None:
    """Compare results cell by cell, with 95 % confidence intervals that account for autocorrelation.

    A ratio whose interval contains 1 is "no difference shown". Runs that were repeated (repeat = N) are compared by
    the spread between their repeats too.
    """
    from rich.console import Console

    from flatwater.analysis import compare
    from flatwater.analysis.compare import nothing_shared
    from flatwater.errors import UserError
    from flatwater.results import open_result

    if len(results) < 2:
        raise UserError("a comparison takes two results", where=str(results[0]), hint="flatwater compare A B")
    opened = [open_result(path) for path in results]
    comparison = compare(opened)
    if not comparison.rows:
        raise UserError(
            nothing_shared(opened),
            where=", ".join(str(path) for path in results),
            hint="`flatwater report` shows the cells of each",
        )
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(comparison), indent=1, default=str))
        return
    console = Console(highlight=False)
    # Text for a script must not be broken into lines of a terminal's width.
    whole = not console.is_terminal
    console.print(table(comparison))
    for row in comparison.rows:
        prefix = f"{row.label}: " if len(comparison.rows) > len(comparison.others) else ""
        console.print(f"{prefix}{row.text}", markup=False, soft_wrap=whole)
        for warning in row.warnings:
            console.print(f"  warning: {warning}", markup=False, soft_wrap=whole)
    for warning in comparison.warnings:
        console.print(f"warning: {warning}", markup=False, soft_wrap=whole)


def table(comparison: Comparison) -> Table:
    """A line a cell and result: mean with its margin, p95, flatness, verdict, ratio to the baseline."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    found = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for heading in ("cell", "result"):
        found.add_column(heading, overflow="fold")
    for heading in ("mean", "95 % ±", "p95 ms", "flat", "ratio"):
        found.add_column(heading, justify="right", no_wrap=True)
    found.add_column("verdict", overflow="fold")
    # All results of a cell together, cells in the baseline's order.
    by_cell: dict[str, list[Row]] = {}
    for row in comparison.rows:
        by_cell.setdefault(row.label, []).append(row)
    for label, rows in by_cell.items():
        first = rows[0]
        cell = f"{label} {first.unit}"
        found.add_row(
            escape(cell), escape(comparison.baseline), *_figures(first.baseline), "1", _verdict(first.baseline)
        )
        for row in rows:
            ratio = f"{row.ratio:.3g}" if row.ratio is not None else "-"
            found.add_row("", escape(row.name), *_figures(row.other), ratio, _verdict(row.other))
    return found


def _figures(side: Side) -> tuple[str, str, str, str]:
    return (
        _number(side.mean),
        _number(side.ci95),
        f"{side.p95_us / 1000:.3g}" if side.p95_us is not None else "-",
        f"{side.flatness:.2f}" if side.flatness is not None else "-",
    )


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _verdict(side: Side) -> str:
    repeats = f" ({side.repeats} runs)" if side.repeats > 1 else ""
    return (side.verdict or "unknown") + repeats
