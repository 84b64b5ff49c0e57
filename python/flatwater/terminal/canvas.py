"""Lines of characters: braille, which has eight dots in a character, or ASCII where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from flatwater.terminal.history import Span

#: The first character of Unicode's block of braille patterns, and the bit of each dot: by its row, then its column.
_BRAILLE = 0x2800
_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
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
                for row in range(joined[0], joined[1] + 1):
                    self._dot(column, rows - row, stroke)

    def _dot(self, column: int, row: int, stroke: Stroke) -> None:
        place = row // self._down, column // self._across
        bits, _ = self._marks.get(place, (0, stroke))
        self._marks[place] = bits | _BITS[row % self._down][column % self._across], stroke

    def lines(self) -> list[Text]:
        """The field, from its top, all lines equally wide."""
        return [self._line(row) for row in range(self._height)]

    def _line(self, row: int) -> Text:
        line = Text(no_wrap=True)
        for column in range(self._width):
            bits, stroke = self._marks.get((row, column), (0, None))
            if stroke is None:
                line.append(" ")
            else:
                line.append(chr(_BRAILLE + bits) if self._braille else stroke.plain, stroke.style)
        return line
