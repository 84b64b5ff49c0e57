"""Plain tables of text, a line an entry: for lists of thousands, for which rich is too slow, and for grep."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence

from flatwater.printing import printable

#: Between two columns.
GAP = "  "
#: A column that gives way to the others keeps this much.
ELASTIC_MIN = 12


def table_lines(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[int] = (),
    elastic: int | None = None,
    width: int | None = None,
) -> Iterator[str]:
    """The heading and the rows as aligned lines. Text from outside is made fit for a terminal, and kept in its line.

    `right`: the columns of figures. `elastic`: the column that is cut where a line would be longer than `width`.
    """
    from rich.cells import set_cell_size

    cells = [[_in_one_line(one) for one in row] for row in (headings, *rows)]
    widths = [max(map(_columns, column)) for column in zip(*cells, strict=True)]
    if elastic is not None and width is not None:
        others = sum(widths) - widths[elastic] + len(GAP) * (len(widths) - 1)
        widths[elastic] = min(widths[elastic], max(ELASTIC_MIN, width - others))
    for row in cells:
        parts = []
        for place, (text, wide) in enumerate(zip(row, widths, strict=True)):
            if _columns(text) > wide:
                text = set_cell_size(text, wide - 1) + "…"
            room = " " * (wide - _columns(text))
            parts.append(room + text if place in right else text + room)
        yield GAP.join(parts).rstrip()


def _in_one_line(text: str) -> str:
    # Nearly all text is fit already, and can be seen to be in a moment.
    return text if text.isascii() and text.isprintable() else printable(" ".join(text.split()))


def _columns(text: str) -> int:
    from rich.cells import cell_len

    return len(text) if text.isascii() else cell_len(text)


def terminal_width() -> int | None:
    """The columns of the terminal that standard output is; None where it is none, and nothing need be cut."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns
