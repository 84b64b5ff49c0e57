"""The progress of a run: a live display on a terminal, else one plain line every ten seconds.

It goes to standard error, because standard output is for results.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TextIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.text import Text

from flatwater.experiment import print_duration, print_left, print_size
from flatwater.printing import make_console
from flatwater.terminal import SERIES, Charts, History, Screen, can_show, fitted

#: Seconds between two plain lines.
PLAIN_LINE_S = 10.0
#: Seconds of the sparkline.
SPARKLINE_WIDTH = 60
_BARS = "▁▂▃▄▅▆▇█"


#: The number of real cells that the live display shows.
CELLS_SHOWN_MAX = 8
#: The number of running cells whose progress is shown.
SHARES_SHOWN_MAX = 8
#: No time left is shown before this many seconds: it would be a guess.
LEFT_AFTER_S = 2.0


@dataclass(frozen=True)
class SweepProgress:
    """The progress of a sweep of several cells."""

    done: int
    running: int
    failed: int
    total: int
    #: Estimated seconds for the rest; None if there is no estimate yet.
    left_s: float | None = None
    #: A line for each real cell that runs on another machine.
    cells: tuple[str, ...] = ()
    #: Progress of each running modelled cell, 0..1.
    shares: tuple[float, ...] = ()

    def text(self) -> str:
        """The counts in a line."""
        text = f"{self.done:,} of {self.total:,} cells done"
        if self.done == self.total:
            return text + (f", {self.failed:,} failed" if self.failed else "")
        text += f", {self.running:,} running"
        if self.shares:
            shown = ", ".join(f"{100 * share:.0f} %" for share in sorted(self.shares, reverse=True)[:SHARES_SHOWN_MAX])
            text += f" ({shown}{', ...' if len(self.shares) > SHARES_SHOWN_MAX else ''})"
        if self.failed:
            text += f", {self.failed:,} failed"
        return text + (f", {print_left(self.left_s)}" if self.left_s is not None else "")


class PhaseClock:
    """Estimates the rest of a phase. In virtual time it uses the speed of the computation so far."""

    def __init__(self, *, virtual: bool = False) -> None:
        self.virtual = virtual
        self._length_s: float | None = None
        self._began_s = 0.0
        self._shown_s = float("inf")

    def begin(self, length_s: float | None) -> None:
        """A phase begins."""
        self._length_s, self._began_s, self._shown_s = length_s, time.monotonic(), float("inf")

    def left_text(self, at_s: float) -> str:
        """`12 s left` when `at_s` of it have passed; "" if that is not known."""
        if not self._length_s:
            return ""
        left_s = max(0.0, self._length_s - at_s)
        if self.virtual:
            passed_s = time.monotonic() - self._began_s
            if at_s <= 0 or passed_s < LEFT_AFTER_S:
                return ""
            left_s *= passed_s / at_s
        # The shown time never grows.
        self._shown_s = min(self._shown_s, left_s)
        return print_left(self._shown_s) if left_s else ""


class Reporter(Protocol):
    """Shows what happens in a run."""

    #: Whether it draws charts of the cell that runs.
    draws: bool = False

    def sweep(self, progress: SweepProgress) -> None:
        """The progress of all cells; called often."""
        ...

    def cell(self, number: int, total: int, label: str, *, virtual: bool = False) -> None:
        """A cell begins; `virtual`: its time is computed."""
        ...

    def phase(self, name: str, length_s: float | None) -> None:
        """A phase of the cell begins; `length_s` is its length if that is known."""
        ...

    def written(self, done: int, total: int) -> None:
        """Bytes of a preparation."""
        ...

    def loaded(self, done: int, total: int) -> None:
        """Rows of a preparation."""
        ...

    def interval(self, at_s: float, throughput: float, unit: str, p95_us: float | None) -> None:
        """An interval ended, `at_s` seconds into the phase."""
        ...

    def sampled(self, time_s: float, metrics: Mapping[str, float]) -> None:
        """All that was recorded of an interval, which ended at `time_s` of the cell's time."""
        ...

    def note(self, text: str) -> None:
        """A note for the user, in one line."""
        ...

    def close(self) -> None:
        """Ends the display."""
        ...


def start_reporter(stream: TextIO | None = None, *, charts: bool = True) -> Reporter:
    """The reporter for standard error: live on a terminal, with charts if they are wanted and fit, else plain."""
    stream = stream or sys.stderr
    console = make_console(stream)
    # A terminal that is one (TERM=dumb) cannot go back to a line that it has.
    return LiveReporter(console, charts=charts) if console.is_interactive else PlainReporter(stream)


def latency_text(latency_us: float | None) -> str:
    """A latency in the best unit."""
    if latency_us is None:
        return "-"
    if latency_us < 1000:
        return f"{latency_us:.0f} us"
    return f"{latency_us / 1000:.2f} ms" if latency_us < 1_000_000 else f"{latency_us / 1e6:.1f} s"


def sparkline(values: list[float]) -> str:
    """Values as bars from zero to the largest."""
    top = max(values, default=0.0) or 1.0
    return "".join(_BARS[min(7, int(max(0.0, value) / top * 7.999))] for value in values)


class _RowRate:
    """The rate of loaded rows, and the time for the rest at this rate."""

    def __init__(self) -> None:
        self._first: tuple[float, int] | None = None

    def text(self, done: int, total: int) -> str:
        """The rows so far, with their rate and the time left once that is known."""
        now = time.monotonic()
        self._first = self._first or (now, done)
        then, before = self._first
        text = f"{done:,} of {total:,} rows"
        if now - then < 1 or done == before:
            return text
        rate = (done - before) / (now - then)
        left = f", {print_left((total - done) / rate)}" if done < total else ""
        return f"{text}, {rate:,.0f}/s{left}"


class SilentReporter(Reporter):
    """Shows nothing: for a process whose parent shows its progress."""

    def sweep(self, progress: SweepProgress) -> None:
        pass

    def cell(self, number: int, total: int, label: str, *, virtual: bool = False) -> None:
        pass

    def phase(self, name: str, length_s: float | None) -> None:
        pass

    def written(self, done: int, total: int) -> None:
        pass

    def loaded(self, done: int, total: int) -> None:
        pass

    def interval(self, at_s: float, throughput: float, unit: str, p95_us: float | None) -> None:
        pass

    def sampled(self, time_s: float, metrics: Mapping[str, float]) -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def close(self) -> None:
        pass


class PlainReporter(Reporter):
    """Prints a line every ten seconds: for logs, cron and pipes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._next = 0.0
        self._next_sweep = time.monotonic() + PLAIN_LINE_S
        self._phase = ""
        self._clock = PhaseClock()
        self._rows = _RowRate()

    def _line(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def _due(self) -> bool:
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + PLAIN_LINE_S
        return True

    def sweep(self, progress: SweepProgress) -> None:
        now = time.monotonic()
        if now < self._next_sweep:
            return
        self._next_sweep = now + PLAIN_LINE_S
        self._line(progress.text())
        for line in progress.cells:
            self._line(f"  {line}")

    def cell(self, number: int, total: int, label: str, *, virtual: bool = False) -> None:
        self._clock.virtual = virtual
        # The lines of the cell show the progress, too.
        self._next_sweep = time.monotonic() + PLAIN_LINE_S
        self._line(f"cell {number} of {total}: {label}")

    def phase(self, name: str, length_s: float | None) -> None:
        self._phase = name
        self._clock.begin(length_s)
        self._rows = _RowRate()
        self._next = time.monotonic() + PLAIN_LINE_S
        virtual = " of virtual time" if self._clock.virtual else ""
        self._line(f"  {name}" + (f", {print_duration(length_s)}{virtual}" if length_s else ""))

    def written(self, done: int, total: int) -> None:
        if self._due():
            self._line(f"  {self._phase} {print_size(done)} of {print_size(total)}")

    def loaded(self, done: int, total: int) -> None:
        # Computed each time, because the rate counts from the first call.
        text = self._rows.text(done, total)
        if self._due():
            self._line(f"  {self._phase}: {text}")

    def interval(self, at_s: float, throughput: float, unit: str, p95_us: float | None) -> None:
        if self._due():
            left = self._clock.left_text(at_s)
            figures = f"{throughput:,.0f} {unit}, p95 {latency_text(p95_us)}{', ' if left else ''}{left}"
            self._line(f"  {self._phase} {at_s:.0f} s: {figures}")

    def sampled(self, time_s: float, metrics: Mapping[str, float]) -> None:
        pass

    def note(self, text: str) -> None:
        self._line(f"  {text}")

    def close(self) -> None:
        pass


class LiveReporter(Reporter):
    """Lines that stay in place: cell, phase, throughput, p95, the time left; charts if they fit, else a sparkline."""

    def __init__(self, console: Console, *, charts: bool = True) -> None:
        self._console = console
        self._title = ""
        self._phase = "starting"
        self._length_s: float | None = None
        self._clock = PhaseClock()
        self._rows = _RowRate()
        self._at_s = 0.0
        self._now = ""
        self._unit = ""
        self._p95 = ""
        self._share: float | None = None
        self._sweep: SweepProgress | None = None
        self._throughputs: deque[float] = deque(maxlen=SPARKLINE_WIDTH)
        self._history = History(SERIES)
        self._charts = Charts(console, self._history) if charts else None
        self.draws = charts
        self._screen = Screen(console, self._render)

    def _render(self) -> Group:
        sweep = [] if self._sweep is None else self._render_sweep(self._sweep)
        return Group(*sweep, *(self._render_cell(len(sweep)) if self._title or self._sweep is None else []))

    def _line(self, text: str, style: str = "") -> Text:
        """A line that stays one where the terminal is narrower, so that the charts fit."""
        return Text(fitted(text, self._console.width, self._console.encoding), style=style, no_wrap=True)

    def _render_sweep(self, sweep: SweepProgress) -> list[RenderableType]:
        more = len(sweep.cells) - CELLS_SHOWN_MAX
        lines = [*sweep.cells[:CELLS_SHOWN_MAX], *([f"and {more} more"] if more > 0 else [])]
        # A bar ends without an end of line, and the cell's title stands below.
        bar = Padding(ProgressBar(total=sweep.total, completed=sweep.done, width=SPARKLINE_WIDTH), 0)
        return [self._line(sweep.text(), "bold"), bar, *(self._line(f"  {line}") for line in lines)]

    def _render_cell(self, lines_above: int) -> list[RenderableType]:
        left = self._clock.left_text(self._at_s) if self._at_s else ""
        figures = self._line("   ".join(part for part in (self._phase, self._now, self._p95, left) if part))
        bar = ProgressBar(total=1.0, completed=self._share or 0.0, width=SPARKLINE_WIDTH, pulse=self._share is None)
        return [self._line(self._title, "bold"), figures, *self._render_series(lines_above), bar]

    def _render_series(self, lines_above: int) -> Sequence[RenderableType]:
        if self._charts is not None:
            width, height = self._console.size
            # Title, figures, bar, and the line of the cursor.
            room = height - lines_above - 4
            if lines := self._charts.lines(width, room, self._unit, virtual=self._clock.virtual):
                return lines
        spark = sparkline(list(self._throughputs))
        return [self._line(spark if can_show(_BARS, self._console.encoding) else "", "cyan")]

    def sweep(self, progress: SweepProgress) -> None:
        self._sweep = progress

    def cell(self, number: int, total: int, label: str, *, virtual: bool = False) -> None:
        self._clock.virtual = virtual
        self._title = f"cell {number} of {total}: {label}"
        self._throughputs.clear()
        self._history.clear()

    def phase(self, name: str, length_s: float | None) -> None:
        self._phase, self._length_s = name, length_s
        self._clock.begin(length_s)
        self._rows = _RowRate()
        self._at_s, self._now, self._p95 = 0.0, "", ""
        self._share = 0.0 if length_s else None

    def loaded(self, done: int, total: int) -> None:
        self._share = done / total if total else None
        self._now = self._rows.text(done, total)

    def written(self, done: int, total: int) -> None:
        self._share = done / total if total else None
        self._now = f"{print_size(done)} of {print_size(total)}"

    def interval(self, at_s: float, throughput: float, unit: str, p95_us: float | None) -> None:
        self._at_s = at_s
        self._unit = unit
        self._now, self._p95 = f"{throughput:,.0f} {unit}", f"p95 {latency_text(p95_us)}"
        self._throughputs.append(throughput)
        if self._length_s:
            self._share = min(1.0, at_s / self._length_s)

    def sampled(self, time_s: float, metrics: Mapping[str, float]) -> None:
        self._history.add(time_s, metrics)

    def note(self, text: str) -> None:
        self._screen.note(text)

    def close(self) -> None:
        self._screen.close()
