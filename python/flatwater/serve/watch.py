"""One run while it is made, as messages for its page: all that was recorded so far, then what is new."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flatwater.errors import FlatwaterError
from flatwater.report.charts import CellChart, wanted_by
from flatwater.report.charts.database import AGE, LIMIT, Database
from flatwater.report.charts.device import UTILISATION, Device
from flatwater.report.charts.flash import AMPLIFICATION, Flash
from flatwater.report.charts.latency import Latency
from flatwater.report.charts.throughput import Throughput
from flatwater.report.drawing import DrawnCell, draw
from flatwater.report.figure import Json
from flatwater.report.html import seen
from flatwater.report.recorded import encode_values
from flatwater.report.units import binary_bytes, microseconds, number, percent, seconds
from flatwater.serve.followed import THROUGHPUT, Followed, State, measured
from flatwater.serve.span import lines_within
from flatwater.serve.tail import Tail
from flatwater.serve.writers import Writers

#: What is drawn of a run under way; the report draws the rest.
CHARTS: Sequence[CellChart] = (Throughput(), Database(), Latency(), Flash(), Device())
_DRAWN = wanted_by(CHARTS)
P99 = "workload.latency_p99_us"
_WANTED = frozenset({*_DRAWN.fine, *_DRAWN.coarse})
#: Points that are sent one by one before all are sent anew, thinned: a page that stays open has no more of a line than
#: the usual 8,000 and these.
GROWN_MAX = 4000
#: Events on the page: the last ones.
EVENTS_MAX = 40


class Watch:
    """A run that is watched. Its methods are called by one thread at a time, and may read files.

    Errors of `open`, `step` and `whole`: FlatwaterError for a result that cannot be read.
    """

    def __init__(self, path: Path, writers: Writers) -> None:
        self._run = Followed(path, writers, _WANTED)
        #: The rows of the tail, and the series, that whoever watches has been sent.
        self._sent = 0
        #: The rows when all were last sent.
        self._whole_rows = 0
        self._series: frozenset[str] = frozenset()
        self._told: tuple[object, ...] = ()

    @property
    def over(self) -> bool:
        """Whether the run has ended, so that nothing more will come."""
        return self._run.over

    def close(self) -> None:
        """Lets the files go."""
        self._run.close()

    def step(self) -> bytes | None:
        """Reads what is new: the message for those who watch, or None if there is nothing new."""
        run = self._run
        began = run.advance()
        state, tail = run.state(), run.tail
        rows = tail.rows if tail is not None else 0
        heard = (state.word, run.done, run.verdict, len(tail.events) if tail is not None else 0)
        if not began and rows == self._sent and heard == self._told:
            return None
        drawn = self._draw()
        series = frozenset(drawn.recorded.lines) if drawn is not None else frozenset()
        # A series that was not there before, as of a second instance, has no place in what was sent.
        anew = began or series != self._series or rows - self._whole_rows > GROWN_MAX
        if anew:
            self._whole_rows = rows
        message = self._whole(drawn, state) if anew else self._more(drawn, state)
        self._sent, self._series, self._told = rows, series, heard
        return message

    def whole(self) -> bytes:
        """All that was sent so far, for one who begins to watch."""
        return self._whole(self._draw(), self._run.state())

    def span(self, cell: int, start_s: float, end_s: float) -> bytes | None:
        """The lines of a span of a cell's time, as JSON; None if it is not the cell that is watched."""
        tail = self._run.tail
        if tail is None or not tail.rows or tail.index != cell:
            return None
        return lines_within(tail, start_s, end_s, CHARTS)

    def _draw(self) -> DrawnCell | None:
        tail = self._run.tail
        if tail is None or not tail.rows:
            return None
        return next(draw(self._run.result, [tail], CHARTS))

    def _whole(self, drawn: DrawnCell | None, state: State) -> bytes:
        data = {"times": [], "lines": {}, "figures": [], "factor": 1.0} if drawn is None else drawn.as_json()
        return _event("all", self._head(drawn, state) | seen(data))

    def _more(self, drawn: DrawnCell | None, state: State) -> bytes:
        head = self._head(drawn, state)
        tail = self._run.tail
        if drawn is None or tail is None:
            return _event("more", head)
        new = tail.rows - self._sent
        fresh = slice(len(tail.times) - new, None)
        lines = (
            {name: encode_values(np.array(tail.columns[name][fresh])) for name in drawn.recorded.lines} if new else {}
        )
        figures = [figure.as_json() for figure in drawn.figures]
        grown = {"times": [round(at, 3) for at in tail.times[fresh]], "figures": figures}
        return _event("more", head | seen({**grown, "lines": lines, "factor": drawn.recorded.clock.factor}))

    def _head(self, drawn: DrawnCell | None, state: State) -> Json:
        tail = self._run.tail
        events = [(seconds(event.time_s), event.kind, event.text) for event in tail.events] if tail else []
        head: Json = seen(
            {
                "cell": tail.index if tail else None,
                "state": state.word,
                "told": state.told,
                "unfinished": self._run.unfinished(state),
                "place": self._run.place,
                "verdict": self._run.verdict,
                "tiles": tiles(tail, drawn.recorded.unit if drawn is not None else "") if tail else [],
                "events": events[-EVENTS_MAX:],
            }
        )
        return head


def tiles(tail: Tail, unit: str) -> list[tuple[str, str]]:
    """The figures of the last second: (what, value with unit)."""
    throughput = measured(tail, THROUGHPUT).value
    phase = tail.phases[-1].name if tail.phases else ""
    age, limit, busy = tail.last(AGE), tail.last(LIMIT), tail.last(UTILISATION)
    modelled = tail.last(AMPLIFICATION)
    found = [
        ("throughput", _with_unit(tail.last(THROUGHPUT), unit)),
        ("mean so far", _with_unit(float(throughput.mean()) if len(throughput) else None, unit)),
        ("p99 latency", microseconds(tail.last(P99)) if tail.last(P99) else ""),
        ("checkpoint age", binary_bytes(age) if age is not None else ""),
        ("age of its limit", percent(age / limit) if age is not None and limit else ""),
        ("device busy", f"{number(busy, 3)} %" if busy is not None and modelled is None else ""),
        ("write amplification", number(modelled, 3) if modelled is not None else ""),
        ("phase", phase),
        ("time", seconds(tail.at_s)),
    ]
    return [(what, value) for what, value in found if value]


def _with_unit(value: float | None, unit: str) -> str:
    return "" if value is None else f"{number(value)} {unit}".strip()


def _event(name: str, data: Any) -> bytes:
    """A server-sent event. JSON has no end of line in it, so that one line holds it."""
    return f"event: {name}\ndata: {json.dumps(data, separators=(',', ':'), allow_nan=False)}\n\n".encode()


def failure(error: FlatwaterError) -> bytes:
    """The message that the run cannot be watched any more."""
    return _event("failed", seen({"told": error.what}))
