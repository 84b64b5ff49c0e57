"""A comparison in words: what differs, a table, and each ratio in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flatwater.analysis.alike import Difference, shown
from flatwater.analysis.compare import Comparison, Row, Side
from flatwater.printing import figure
from flatwater.report.document import Block, Document, Drawing, Heading, Items, Rows
from flatwater.report.figure import Figure

#: The columns of the table, and where those of figures begin and end.
HEADINGS = ("cell", "result", "mean", "95 % ±", "p95 ms", "flat", "ratio", "verdict")
FIGURES = range(2, 7)


def difference_lines(baseline: str, name: str, found: list[Difference]) -> Iterator[str]:
    """The differences of two results, a line for each field: those that forbid a ratio first, unknown ones last of
    each.
    """
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


def as_document(comparison: Comparison, figures: Sequence[Figure] = ()) -> Document:
    """The comparison as a page or as Markdown: what differs, the table, each ratio in a sentence, and the figures."""
    blocks: list[Block] = []
    for name, found in comparison.differences.items():
        if lines := list(difference_lines(comparison.baseline, name, found)):
            blocks += [Heading(lines[0].rstrip(":")), Items(tuple(line.strip() for line in lines[1:]))]
    blocks += [Heading("Cell by cell"), Rows(HEADINGS, tuple(table_rows(comparison)), frozenset(FIGURES))]
    sentences = [text for row in comparison.rows for text in (f"{row.label}: {row.text}", *row.warnings)]
    blocks.append(Items((*sentences, *comparison.warnings)))
    blocks += [Drawing(one) for one in figures]
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
