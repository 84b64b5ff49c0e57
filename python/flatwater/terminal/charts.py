"""Which charts a run has, and how they fit a terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.console import Console
from rich.text import Text

from flatwater.printing import printable
from flatwater.report.units import binary_bytes, microseconds, number, seconds
from flatwater.terminal.canvas import Canvas, Stroke
from flatwater.terminal.history import History

#: Characters of the scale at the left of a chart, with its line.
SCALE_WIDTH = 13
#: A narrower chart shows nothing; from twice a wide one on, two stand side by side.
WIDTH_MIN = 40
WIDTH_SIDE_BY_SIDE = 50
#: Lines of a chart with its title: fewer show nothing, more show no more.
LINES_MIN, LINES_MAX = 4, 9
#: Blanks between two charts.
GAP = 2
_LIMIT = Stroke("red", "-", dashed=True)


@dataclass(frozen=True)
class Chart:
    """A series over time."""

    title: str
    series: str
    #: A value as text; `unit` is that of the throughput.
    text: Callable[[float, str], str]
    style: str
    #: A series that is the limit of this one.
    limit: str | None = None
    #: The end of the scale; None for the highest value.
    top: float | None = None

    def heading(self, history: History, unit: str) -> str:
        """The title with the last value."""
        value = history.last.get(self.series)
        told = f"{self.title} {self.text(value, unit) if value is not None else '-'}"
        limit = history.last.get(self.limit) if self.limit is not None else None
        if value is None or not limit:
            return told
        return f"{told}, {100 * value / limit:.0f} % of its limit {self.text(limit, unit)}"


def _with_unit(value: float, unit: str) -> str:
    return f"{number(value)} {unit}"


def _bytes(value: float, unit: str) -> str:
    return binary_bytes(value)


def _bytes_per_s(value: float, unit: str) -> str:
    return f"{binary_bytes(value)}/s"


def _latency(value: float, unit: str) -> str:
    return microseconds(value)


def _percent(value: float, unit: str) -> str:
    return f"{number(value, 3)} %"


#: The charts, in their order. Of those in one line, the first one that the run has: a modelled device tells of its
#: parts, the kernel of a real one, and of a network's file system nobody tells anything but the load.
CHARTS: Sequence[Sequence[Chart]] = (
    (Chart("throughput", "workload.throughput", _with_unit, "cyan"),),
    (Chart("p99 latency", "workload.latency_p99_us", _latency, "yellow"),),
    (Chart("checkpoint age", "database.checkpoint_age_bytes", _bytes, "magenta", "database.checkpoint_age_max_bytes"),),
    (
        Chart("flash dies busy", "storage.dies_busy_pct", _percent, "green", top=100.0),
        Chart("disk busy", "storage.busy_pct", _percent, "green", top=100.0),
        Chart("link busy", "storage.link_busy_pct", _percent, "green", top=100.0),
        Chart("first member busy", "storage.member0_dies_busy_pct", _percent, "green", top=100.0),
        Chart("first member busy", "storage.member0_busy_pct", _percent, "green", top=100.0),
        Chart("device busy", "storage.utilisation_pct", _percent, "green", top=100.0),
        Chart("requested bytes", "workload.bytes_per_s", _bytes_per_s, "green"),
    ),
)
#: The series that tell how busy the device is: of those that a run has, the first.
BUSY = tuple(chart.series for chart in CHARTS[-1] if chart.text is _percent)
#: Every series that a chart may need.
SERIES = frozenset(
    name for choices in CHARTS for chart in choices for name in (chart.series, chart.limit) if name is not None
)


def charts_of(history: History) -> list[Chart]:
    """The charts that a run has."""
    found = (next((one for one in choices if one.series in history), None) for choices in CHARTS)
    return [one for one in found if one is not None]


class Charts:
    """The charts of a history, as lines for a console."""

    def __init__(self, console: Console, history: History) -> None:
        self._history = history
        self._braille = has_braille(console)
        self._encoding = console.encoding

    def lines(self, width: int, height: int, unit: str, *, virtual: bool = False) -> list[Text] | None:
        """The charts in a field of the console; None if nothing was recorded or they do not fit."""
        history, charts = self._history, charts_of(self._history)
        side_by_side = 2 if width >= 2 * WIDTH_SIDE_BY_SIDE + GAP and len(charts) > 1 else 1
        # The last line is that of the time.
        room = max(0, height - 1) // LINES_MIN
        charts = charts[: room * side_by_side]
        if not charts or width < WIDTH_MIN:
            return None
        rows = -(-len(charts) // side_by_side)
        lines = min(LINES_MAX, (height - 1) // rows)
        wide = (width - GAP * (side_by_side - 1)) // side_by_side
        drawn = [self._draw(chart, wide, lines, unit) for chart in charts]
        told = f"{seconds(history.first_s)} to {seconds(history.last_s)} of the cell"
        ends = self._text(f"{told}{', in virtual time' if virtual else ''}", width, "dim")
        return [*_arranged(drawn, side_by_side), ends]

    def _draw(self, chart: Chart, width: int, lines: int, unit: str) -> list[Text]:
        history = self._history
        series = (chart.series,) if chart.limit is None else (chart.series, chart.limit)
        top = chart.top or history.top(*series) or 1.0
        canvas = Canvas(width - SCALE_WIDTH, lines - 1, braille=self._braille)
        if chart.limit is not None:
            canvas.draw(history.spans(chart.limit, canvas.columns), top, _LIMIT)
        canvas.draw(history.spans(chart.series, canvas.columns), top, Stroke(chart.style))
        field = canvas.lines()
        scale = [""] * len(field)
        # The unit of the throughput stands in the title, and may be long.
        scale[0], scale[-1] = chart.text(top, "").strip(), "0"
        # Not added: the style of the first part would be that of the whole.
        drawn = [Text.assemble(self._scale(text), line, no_wrap=True) for text, line in zip(scale, field, strict=True)]
        return [self._text(chart.heading(history, unit), width, "bold"), *drawn]

    def _scale(self, text: str) -> Text:
        told = fitted(text, SCALE_WIDTH - 2, self._encoding).rjust(SCALE_WIDTH - 2)
        return Text(f"{told} {'│' if self._braille else '|'}", style="dim")

    def _text(self, text: str, width: int, style: str) -> Text:
        return Text(fitted(text, width, self._encoding), style=style, no_wrap=True)


def _arranged(drawn: Sequence[list[Text]], side_by_side: int) -> list[Text]:
    """Charts side by side. All lines of a chart but its title are as wide as it is."""
    if side_by_side == 1:
        return [line for chart in drawn for line in chart]
    lines = []
    for left, right in zip_longest(drawn[::2], drawn[1::2], fillvalue=None):
        assert left is not None
        if right is None:
            lines += left
            continue
        wide = max(line.cell_len for line in left)
        for one, other in zip(left, right, strict=True):
            one.pad_right(wide - one.cell_len + GAP)
            lines.append(one + other)
    return lines


def fitted(text: str, width: int, encoding: str = "utf-8") -> str:
    """A text from outside as one line that is no wider, whatever is in it."""
    whole = printable(re.sub(r"\s", " ", text))
    if not can_show("µ…", encoding):
        whole = whole.replace("µ", "u").encode(encoding, "backslashreplace").decode(encoding)
    line = Text(whole)
    line.truncate(width, overflow="ellipsis" if can_show("…", encoding) else "crop")
    return line.plain


def has_braille(console: Console) -> bool:
    """Whether a console can show braille: its encoding has it, and it is not the kernel's own, whose font has none."""
    return os.environ.get("TERM") != "linux" and can_show("⣿", console.encoding)


def can_show(text: str, encoding: str) -> bool:
    """Whether an encoding has all characters of a text."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
