"""`flatwater compare`: results side by side, with error bars."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatwater.cli.arguments import DocumentFile, Force, Json
from flatwater.cli.columns import figure
from flatwater.printing import make_console

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from flatwater.analysis.alike import Difference
    from flatwater.analysis.compare import Comparison, Row, Side
    from flatwater.report.document import Document

NAME = "compare"
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


def difference_lines(baseline: str, name: str, found: list[Difference]) -> Iterator[str]:
    """The differences of two results, a line for each field: those that forbid a ratio first, unknown ones last of
    each.
    """
    from flatwater.analysis.alike import shown

    if not found:
        return
    yield f"{baseline} / {name} differ, besides what is swept:"
    for one in sorted(found, key=lambda one: (not one.decisive, bool(one.unknown_in), one.role)):
        if not one.unknown_in:
            values = " / ".join(shown(one.field, value) for value in (one.baseline, one.other))
            yield f"  {one.field}: {values} ({one.role})"
    for decisive in (True, False):
        by_side: dict[str, list[str]] = {}
        for one in found:
            if one.unknown_in and one.decisive == decisive:
                by_side.setdefault(one.unknown_in, []).append(one.field)
        for side, fields in by_side.items():
            of = {"baseline": baseline, "other": name, "both": "both"}[side]
            yield f"  unknown: {', '.join(fields)} (of {of})"


#: The columns of the table, and where those of figures begin and end.
_HEADINGS = ("cell", "result", "mean", "95 % ±", "p95 ms", "flat", "ratio", "verdict")
_FIGURES = range(2, 7)


def table(comparison: Comparison) -> Table:
    """A line for each cell and result: mean with its margin, p95, flatness, verdict, ratio to the baseline."""
    from rich import box
    from rich.table import Table

    found = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for place, heading in enumerate(_HEADINGS):
        if place in _FIGURES:
            found.add_column(heading, justify="right", no_wrap=heading != "ratio")
        else:
            found.add_column(heading, overflow="fold")
    for row in table_rows(comparison):
        found.add_row(*row)
    return found


def table_rows(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    """The rows of the table as text. All results of a cell stand together, cells in the baseline's order."""
    by_cell: dict[str, list[Row]] = {}
    for row in comparison.rows:
        by_cell.setdefault(row.label, []).append(row)
    for label, rows in by_cell.items():
        first = rows[0]
        yield (
            f"{label} {first.unit}",
            comparison.baseline,
            *_figures(first.baseline),
            "1",
            _verdict(first.baseline),
        )
        for row in rows:
            ratio = (
                f"{row.ratio:.3g}" if row.ratio is not None else "-" if row.comparable == "yes" else "not comparable"
            )
            yield ("", row.name, *_figures(row.other), ratio, _verdict(row.other))


def as_document(comparison: Comparison) -> Document:
    """The comparison as a page or as Markdown: what differs, the table, and each ratio in a sentence."""
    from flatwater.report.document import Block, Document, Heading, Items, Rows

    blocks: list[Block] = []
    for name, found in comparison.differences.items():
        if lines := list(difference_lines(comparison.baseline, name, found)):
            blocks += [Heading(lines[0].rstrip(":")), Items(tuple(line.strip() for line in lines[1:]))]
    blocks += [Heading("Cell by cell"), Rows(_HEADINGS, tuple(table_rows(comparison)), frozenset(_FIGURES))]
    sentences = [text for row in comparison.rows for text in (f"{row.label}: {row.text}", *row.warnings)]
    blocks.append(Items((*sentences, *comparison.warnings)))
    title = f"{', '.join(comparison.others)} against {comparison.baseline}"
    return Document(title, comparison.rows[0].text, tuple(blocks))


def _figures(side: Side) -> tuple[str, str, str, str]:
    return (
        figure(side.mean),
        figure(side.ci95),
        f"{side.p95_us / 1000:.3g}" if side.p95_us is not None else "-",
        f"{side.flatness:.2f}" if side.flatness is not None else "-",
    )


def _verdict(side: Side) -> str:
    repeats = f" ({side.repeats} runs)" if side.repeats > 1 else ""
    return (side.verdict or "unknown") + repeats
