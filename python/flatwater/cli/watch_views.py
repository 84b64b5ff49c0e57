"""What a watched run looks like: charts that stay in place, a line a second, or JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Protocol

from rich.console import Console, Group
from rich.text import Text

from flatwater.printing import make_console
from flatwater.report.units import seconds
from flatwater.serve.followed import Followed
from flatwater.terminal import SERIES, Charts, History, Screen, charts_of, fitted

#: No line is longer, whatever a run's title or an event of it is.
LINE_MAX = 500


class View(Protocol):
    """Shows a run that is followed."""

    def show(self, *, began: bool) -> None:
        """Shows what was read; `began`: of another cell, or of one that began anew."""
        ...

    def close(self) -> None:
        """Takes away what stays in place."""
        ...

    def end(self, status: str, lines: Sequence[str]) -> None:
        """Tells how a run ended: its verdicts, and where its result is."""
        ...


def make_view(followed: Followed, *, as_json: bool) -> View:
    """The view that standard output can show."""
    if as_json:
        return JsonView(followed)
    # By name: what stays in place takes the place of `sys.stdout`, and its own characters must not come back to it.
    console = make_console(sys.stdout)
    return ChartsView(followed, console) if console.is_interactive else LinesView(followed)


class _Read:
    """What was read of the cell that is followed."""

    def __init__(self, followed: Followed) -> None:
        self.followed = followed
        self.history = History(SERIES)
        self._rows = self._events = 0

    def advance(self, *, began: bool) -> tuple[bool, list[str]]:
        """Takes what is new: whether there are new intervals, and the new events, a line each."""
        tail = self.followed.tail
        if tail is None:
            return False, []
        if began:
            self.history.clear()
            self._rows = self._events = 0
        new = min(tail.rows - self._rows, len(tail.times))
        for place in range(len(tail.times) - new, len(tail.times)):
            self.history.add(tail.times[place], {name: column[place] for name, column in tail.columns.items()})
        events = [
            fitted(f"{seconds(event.time_s)} {event.kind}: {event.text}", LINE_MAX)
            for event in tail.events[self._events :]
        ]
        self._rows, self._events = tail.rows, len(tail.events)
        return new > 0, events

    @property
    def title(self) -> str:
        """The run, and the cell of a sweep."""
        manifest = self.followed.result.manifest
        place = self.followed.place
        return fitted(f"{manifest.title or manifest.name}{': ' if place else ''}{place}", LINE_MAX)

    @property
    def phase(self) -> str:
        """The phase, and how long the cell has run."""
        tail = self.followed.tail
        if tail is None or not tail.phases:
            return "preparing"
        return f"{tail.phases[-1].name}, {seconds(tail.at_s)}{' of virtual time' if tail.virtual else ''}"

    @property
    def line(self) -> str:
        """The last interval in a line."""
        told = [chart.heading(self.history, self.followed.unit) for chart in charts_of(self.history)]
        tail, cells = self.followed.tail, len(self.followed.result.cells)
        place = f"cell {tail.index + 1} of {cells}, " if tail is not None and cells > 1 else ""
        return fitted(f"{place}{self.phase}: {', '.join(told)}", LINE_MAX)


class LinesView(View):
    """A line a second: for logs and pipes."""

    def __init__(self, followed: Followed) -> None:
        self._read = _Read(followed)

    def show(self, *, began: bool) -> None:
        new, events = self._read.advance(began=began)
        for line in [*events, *([self._read.line] if new else [])]:
            print(line, flush=True)

    def close(self) -> None:
        pass

    def end(self, status: str, lines: Sequence[str]) -> None:
        for line in lines:
            print(line, flush=True)


class ChartsView(LinesView):
    """Charts that stay in place, with what happened in lines above them."""

    def __init__(self, followed: Followed, console: Console) -> None:
        super().__init__(followed)
        self._console = console
        self._charts = Charts(console, self._read.history)
        self._screen = Screen(console, self._render)

    def _render(self) -> Group:
        read, (width, height) = self._read, self._console.size

        def line(text: str, style: str = "") -> Text:
            return Text(fitted(text, width, self._console.encoding), style=style, no_wrap=True)

        foot = [line(told) for told in (read.followed.verdict,) if told]
        virtual = read.followed.tail is not None and read.followed.tail.virtual
        # Two lines stand above the charts, and that of the cursor is one, too.
        charts = self._charts.lines(width, height - len(foot) - 3, read.followed.unit, virtual=virtual)
        told = read.line if charts is None else read.phase
        return Group(line(read.title, "bold"), line(told), *(charts or []), *foot)

    def show(self, *, began: bool) -> None:
        _, events = self._read.advance(began=began)
        for line in events:
            self._screen.note(line)

    def close(self) -> None:
        self._screen.close()


class JsonView(View):
    """An object a second: for programs."""

    def __init__(self, followed: Followed) -> None:
        self._read = _Read(followed)

    def show(self, *, began: bool) -> None:
        _, events = self._read.advance(began=began)
        followed = self._read.followed
        tail = followed.tail
        told = {
            "state": "running",
            "cell": tail.index if tail is not None else None,
            "cells": len(followed.result.cells),
            "done": followed.done,
            "time_s": tail.at_s if tail is not None else None,
            "phase": tail.phases[-1].name if tail is not None and tail.phases else None,
            "unit": followed.unit,
            "metrics": self._read.history.last,
            "verdict": followed.verdict or None,
            "events": events,
        }
        print(json.dumps(told), flush=True)

    def close(self) -> None:
        pass

    def end(self, status: str, lines: Sequence[str]) -> None:
        print(json.dumps({"state": "ended", "status": status, "told": list(lines)}), flush=True)
