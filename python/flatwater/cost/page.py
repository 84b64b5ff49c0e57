"""A comparison as a document, which is written as a page or as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flatwater.cost.chart import draw
from flatwater.cost.comparison import Comparison
from flatwater.cost.words import ITEM_HEADINGS, Column, columns, headline, item_texts, notes
from flatwater.report.document import Block, Document, Drawing, Heading, Items, Paragraph, Rows


def as_document(comparison: Comparison) -> Document:
    """The chart, the table, the rules, and every line item with its source."""
    return Document("What it costs", headline(comparison), tuple(_blocks(comparison)))


def _blocks(comparison: Comparison) -> Iterator[Block]:
    figure = draw(comparison)
    if figure is not None:
        yield Drawing(figure)
    yield Heading("The rows")
    found = columns(comparison)
    yield _table(comparison, [one for one in found if one.main])
    yield _table(comparison, [one for one in found if not one.main])
    yield Heading("How it was reckoned")
    yield Items((*notes(comparison), f"prices as of {comparison.day}"))
    yield Heading("Line items")
    for place, row in enumerate(comparison.rows, start=1):
        yield Paragraph("", f"{place}: {row.candidate.name}")
        yield Rows(ITEM_HEADINGS, tuple(item_texts(row, comparison)), frozenset({1, 4, 5}))


def _table(comparison: Comparison, found: Sequence[Column]) -> Rows:
    """Some of the columns: all of them would leave the names no room."""
    rows = tuple(
        (str(place), row.candidate.name, *(column.texts[place - 1] for column in found))
        for place, row in enumerate(comparison.rows, start=1)
    )
    head = ("#", "run", *(column.heading for column in found))
    return Rows(head, rows, frozenset({0, *range(2, len(head))}))
