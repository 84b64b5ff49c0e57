"""Lines of characters: braille, which has eight dots in a character, or ASCII where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.text import Text

from flatwater.terminal.history import Span

#: The first character of Unicode's block of braille patterns, and the bit of each dot: by its row, then its column.
_BRAILLE = 0x2800
_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
#: The bits of the dots one above the other: by their column, the first row and the last row.
_RUNS = [
    [[sum(_BITS[row][side] for row in range(first, last + 1)) for last in range(4)] for first in range(4)]
    for side in range(2)
]
#: Dots of a dashed line that are drawn, and those that are left out.
_DASH = 2


@dataclass(frozen=True)
class Stroke:
    """How a line is drawn. Without colours, dashes tell it from another."""

    style: str
    #: Its character where there is no braille.
    plain: str = "*"
    dashed: bool = False


class Canvas:
    """Lines that are drawn into a field of characters, and the field as text."""

    def __init__(self, width: int, height: int, *, braille: bool) -> None:
        self._width, self._height, self._braille = width, height, braille
        #: Dots of a character, side by side and one above the other.
        self._across, self._down = (2, 4) if braille else (1, 1)
        #: (row, column) -> the bits of the dots, and the stroke that was drawn last.
        self._marks: dict[tuple[int, int], tuple[int, Stroke]] = {}

    @property
    def columns(self) -> int:
        """Dots side by side."""
        return self._width * self._across

    def draw(self, spans: Sequence[Span | None], top: float, stroke: Stroke) -> None:
        """Draws a line through the spans, one for each column of dots, from zero at the bottom to `top`."""
        rows = self._height * self._down - 1
        before: tuple[int, int] | None = None
        for column, span in enumerate(spans):
            if span is None:
                before = None
                continue
            low, high = (round(rows * min(1.0, max(0.0, value / top))) if top > 0 else 0 for value in span)
            # A line that jumps stays one line.
            joined = (low, high) if before is None else (min(low, before[1]), max(high, before[0]))
            before = low, high
            if not stroke.dashed or column // _DASH % 2 == 0:
                self._upright(column, rows - joined[1], rows - joined[0], stroke)

    def _upright(self, column: int, first: int, last: int, stroke: Stroke) -> None:
        """Dots one above the other, from row `first` down to row `last`; a character at a time."""
        marks, (across, side), down = self._marks, divmod(column, self._across), self._down
        for row in range(first // down, last // down + 1):
            bits = _RUNS[side][max(0, first - row * down)][min(down - 1, last - row * down)]
            place = row, across
            marks[place] = (marks[place][0] | bits if place in marks else bits), stroke

    def lines(self) -> list[Text]:
        """The field, from its top, all lines equally wide."""
        return [self._line(row) for row in range(self._height)]

    def _line(self, row: int) -> Text:
        """A line in as few parts as it has colours: it is drawn every second."""
        marks = (self._marks.get((row, column), (0, None)) for column in range(self._width))
        line = Text(no_wrap=True)
        for style, part in groupby(marks, key=lambda mark: mark[1].style if mark[1] is not None else ""):
            line.append("".join(self._character(bits, stroke) for bits, stroke in part), style)
        return line

    def _character(self, bits: int, stroke: Stroke | None) -> str:
        if stroke is None:
            return " "
        return chr(_BRAILLE + bits) if self._braille else stroke.plain
