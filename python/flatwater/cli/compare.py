"""`flatwater compare`: results side by side, with error bars."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.arguments import DocumentFile, Force, Json
from flatwater.cli.stores import Wanted
from flatwater.printing import make_console

if TYPE_CHECKING:
    from rich.table import Table

    from flatwater.analysis.compare import Comparison

NAME = "compare"
READS = {"results": Wanted.WHOLE}
EXAMPLES = """
[bold]Examples[/bold]

  flatwater compare before after          is the second faster?

  flatwater compare ext4 xfs btrfs        the first is the baseline

  flatwater compare fio-result old --anyway   what fio did not tell is unknown

  flatwater compare old new --out page.html   or page.md

  flatwater compare old new --json | jq '.rows[].ratio'
"""


def verb(
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULT", help="Two or more result folders; the first is the baseline.")
    ],
    anyway: Annotated[
        bool,
        typer.Option("--anyway", help="Give ratios although workload, data size or direction differ or are unknown."),
    ] = False,
    out: DocumentFile = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Compare results cell by cell, with 95 % confidence intervals that account for autocorrelation.

    A ratio whose interval contains 1 is "no difference shown". Runs that were repeated (repeat = N) are compared by
    the spread between their repeats too.

    First comes every field in which they differ besides what is swept. Where workload, data size or direction differ,
    or are unknown of an imported result, there is no ratio: that would compare answers to two questions.
    """
    from flatwater.analysis import compare
    from flatwater.analysis.compare import nothing_shared
    from flatwater.analysis.side_by_side import as_document, difference_lines
    from flatwater.errors import UserError
    from flatwater.report.document import require_document_place, write_document
    from flatwater.results import open_result

    if len(results) < 2:
        raise UserError("a comparison takes two results", where=str(results[0]), hint="flatwater compare A B")
    if out is not None:
        require_document_place(out, force=force)
    opened = [open_result(path) for path in results]
    comparison = compare(opened, anyway=anyway)
    if not comparison.rows:
        raise UserError(
            nothing_shared(opened),
            where=", ".join(str(path) for path in results),
            hint="`flatwater report` shows the cells of each",
        )
    if out is not None:
        write_document(as_document(comparison), out, force=force)
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(comparison), indent=1, default=str))
        return
    console = make_console()
    # Text for a script must not be wrapped to the width of a terminal.
    whole = not console.is_terminal
    for name, found in comparison.differences.items():
        for line in difference_lines(comparison.baseline, name, found):
            console.print(line, soft_wrap=whole)
    console.print(table(comparison))
    for row in comparison.rows:
        prefix = f"{row.label}: " if len(comparison.rows) > len(comparison.others) else ""
        console.print(f"{prefix}{row.text}", soft_wrap=whole)
        for warning in row.warnings:
            console.print(f"  warning: {warning}", soft_wrap=whole)
    for warning in comparison.warnings:
        console.print(f"warning: {warning}", soft_wrap=whole)


def table(comparison: Comparison) -> Table:
    """A line for each cell and result: mean with its margin, p95, flatness, verdict, ratio to the baseline."""
    from rich import box
    from rich.table import Table

    from flatwater.analysis.side_by_side import FIGURES, HEADINGS, table_rows

    found = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for place, heading in enumerate(HEADINGS):
        if place in FIGURES:
            found.add_column(heading, justify="right", no_wrap=heading != "ratio")
        else:
            found.add_column(heading, overflow="fold")
    for row in table_rows(comparison):
        found.add_row(*row)
    return found
