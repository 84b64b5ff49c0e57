"""One run while it is made, as messages for its page: all that was recorded so far, then what is new."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flatwater.analysis import judge
from flatwater.analysis.verdict import SAMPLES_MIN
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
from flatwater.results import Result, Series, open_result
from flatwater.results.opening import read_manifest
from flatwater.results.started import resume_command
from flatwater.results.stored import exists
from flatwater.serve.folders import Stamp, stamp_of
from flatwater.serve.tail import Tail
from flatwater.serve.writers import Writers

#: What is drawn of a run under way; the report draws the rest.
CHARTS: Sequence[CellChart] = (Throughput(), Database(), Latency(), Flash(), Device())
_DRAWN = wanted_by(CHARTS)
THROUGHPUT, P99 = "workload.throughput", "workload.latency_p99_us"
_JUDGED = ("workload.ops_per_s", "workload.in_flight", "workload.oldest_in_flight_us")
_WANTED = frozenset({*_DRAWN.fine, *_DRAWN.coarse, *_JUDGED})
#: A run that writes nothing for this long, and that no process is seen to write, is told to have stopped.
QUIET_S = 10.0
#: The verdict so far is found anew after this time, and so is the cell that is under way.
JUDGED_S = 5.0
#: Events on the page: the last ones.
EVENTS_MAX = 40


class Watch:
    """A run that is watched. Its methods are called by one thread at a time, and may read files.

    Errors of `open`, `step` and `whole`: FlatwaterError for a result that cannot be read.
    """

    def __init__(self, path: Path, writers: Writers) -> None:
        self._path = path
        self._writers = writers
        self._stamp: Stamp = ()
        self._status = "running"
        self._tail: Tail | None = None
        self._done = 0
        self._found_s = self._judged_s = float("-inf")
        self._new_s = time.monotonic()
        self._verdict = ""
        #: The rows of the tail, and the series, that whoever watches has been sent.
        self._sent = 0
        self._series: frozenset[str] = frozenset()
        self._told: tuple[object, ...] = ()
        self._result = open_result(path)

    @property
    def over(self) -> bool:
        """Whether the run has ended, so that nothing more will come."""
        return self._status != "running"

    def close(self) -> None:
        """Lets the files go."""
        if self._tail is not None:
            self._tail.close()

    def step(self) -> bytes | None:
        """Reads what is new: the message for those who watch, or None if there is nothing new."""
        began = self._advance()
        state, told = self._state()
        tail = self._tail
        rows = tail.rows if tail is not None else 0
        heard = (state, self._done, self._verdict, len(tail.events) if tail is not None else 0)
        if not began and rows == self._sent and heard == self._told:
            return None
        drawn = self._draw()
        series = frozenset(drawn.recorded.lines) if drawn is not None else frozenset()
        # A series that was not there before, as of a second instance, has no place in what was sent.
        anew = began or series != self._series
        message = self._whole(drawn, state, told) if anew else self._more(drawn, state, told)
        self._sent, self._series, self._told = rows, series, heard
        return message

    def whole(self) -> bytes:
        """All that was sent so far, for one who begins to watch."""
        return self._whole(self._draw(), *self._state())

    def span(self, start_s: float, end_s: float) -> bytes:
        """The lines of a span of the cell's time, with as many points as the whole cell has otherwise: JSON."""
        tail = self._tail
        if tail is None or not tail.rows:
            return b"{}"
        drawn = next(draw(self._result, [tail.within(start_s, end_s)], CHARTS)).as_json()
        found = {"cell": tail.index, "times": drawn["times"], "lines": drawn["lines"]}
        return json.dumps(seen(found), separators=(",", ":"), allow_nan=False).encode()

    def _advance(self) -> bool:
        """Follows the run. True if what was sent is of another cell, or of one that began anew."""
        stamp = stamp_of(self._path)
        if stamp != self._stamp:
            self._status = read_manifest(self._path).status
            self._stamp = stamp
        began = self._find_cell()
        tail = self._tail
        if tail is None:
            return began
        before = tail.rows
        began = tail.advance() or began
        if tail.rows != before:
            self._new_s = time.monotonic()
        if time.monotonic() - self._judged_s > JUDGED_S or self.over or began:
            self._judged_s = time.monotonic()
            self._verdict = self._judge(tail)
        return began

    def _find_cell(self) -> bool:
        """Turns to the cell that is under way, if the one before it is over."""
        now = time.monotonic()
        tail = self._tail
        if tail is not None and (self.over or not exists(tail.folder / "summary.json")) and exists(tail.folder):
            return False
        if now - self._found_s < JUDGED_S and tail is not None:
            return False
        self._found_s = now
        finished = {cell.index for cell in self._result.cells if exists(cell.folder / "summary.json")}
        self._done = len(finished)
        journals = [(_changed(cell.journal), cell) for cell in self._result.cells]
        there = [(at, cell.index not in finished, cell) for at, cell in journals if at]
        if not there:
            return False
        _, _, newest = max(there, key=lambda one: (one[1], one[0]))
        if tail is not None and tail.index == newest.index:
            return False
        self.close()
        self._tail = Tail(newest, _WANTED)
        self._verdict = ""
        return True

    def _judge(self, tail: Tail) -> str:
        measured = _measured(tail, THROUGHPUT)
        if len(measured) < SAMPLES_MIN:
            return ""
        record = self._result.experiment.get("record")
        told = record.get("interval_s") if isinstance(record, dict) else None
        interval_s = float(told) if isinstance(told, int | float) and told > 0 else 1.0
        completed, in_flight, oldest_us = (_measured(tail, name) for name in _JUDGED)
        unit = _unit(self._result)
        return judge(measured, interval_s, unit, completed=completed, in_flight=in_flight, oldest_us=oldest_us).text

    def _state(self) -> tuple[str, str]:
        """How the run stands, in a word and in a sentence."""
        if self.over:
            return "ended", f"The run is over: {self._status}."
        writer = self._writers.of(self._path)
        if writer is not None:
            return "running", f"Process {writer} runs it."
        quiet_s = time.monotonic() - self._new_s
        if self._tail is not None:
            quiet_s = max(quiet_s, time.time() - _changed(self._tail.journal))
        if quiet_s < QUIET_S:
            return "running", "It runs."
        seen_last = f"the last second was written {seconds(quiet_s)} ago" if self._tail else "nothing was recorded yet"
        return "stopped", (
            f"It has stopped without an end: no process that can be seen from here writes it, and {seen_last}. "
            f"What was recorded is kept. {resume_command(self._path)} goes on with it."
        )

    def _draw(self) -> DrawnCell | None:
        if self._tail is None or not self._tail.rows:
            return None
        return next(draw(self._result, [self._tail], CHARTS))

    def _whole(self, drawn: DrawnCell | None, state: str, told: str) -> bytes:
        data = {"times": [], "lines": {}, "figures": [], "factor": 1.0} if drawn is None else drawn.as_json()
        return _event("all", self._head(drawn, state, told) | seen(data))

    def _more(self, drawn: DrawnCell | None, state: str, told: str) -> bytes:
        head = self._head(drawn, state, told)
        tail = self._tail
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

    def _head(self, drawn: DrawnCell | None, state: str, told: str) -> Json:
        tail, result = self._tail, self._result
        events = [(seconds(event.time_s), event.kind, event.text) for event in tail.events] if tail else []
        cells = len(result.cells)
        place = f"Cell {tail.index + 1} of {cells}: {tail.label}. {self._done} are over." if tail and cells > 1 else ""
        head: Json = seen(
            {
                "cell": tail.index if tail else None,
                "state": state,
                "told": told,
                "place": place,
                "verdict": self._verdict,
                "tiles": tiles(tail, drawn.recorded.unit if drawn is not None else "") if tail else [],
                "events": events[-EVENTS_MAX:],
            }
        )
        return head


def tiles(tail: Tail, unit: str) -> list[tuple[str, str]]:
    """The figures of the last second: (what, value with unit)."""
    measured = _measured(tail, THROUGHPUT).value
    phase = tail.phases[-1].name if tail.phases else ""
    age, limit, busy = tail.last(AGE), tail.last(LIMIT), tail.last(UTILISATION)
    modelled = tail.last(AMPLIFICATION)
    found = [
        ("throughput", _with_unit(tail.last(THROUGHPUT), unit)),
        ("mean so far", _with_unit(float(measured.mean()) if len(measured) else None, unit)),
        ("p99 latency", microseconds(tail.last(P99)) if tail.last(P99) else ""),
        ("checkpoint age", binary_bytes(age) if age is not None else ""),
        ("age of its limit", percent(age / limit) if age is not None and limit else ""),
        ("device busy", f"{number(busy, 3)} %" if busy is not None and modelled is None else ""),
        ("write amplification", number(modelled, 3) if modelled is not None else ""),
        ("phase", phase),
        ("time", seconds(tail.at_s)),
    ]
    return [(what, value) for what, value in found if value]


def _measured(tail: Tail, name: str) -> Series:
    """The measured samples of a series, without the intervals in which it was not recorded."""
    layer, _, metric = name.partition(".")
    found = tail.measured(layer, metric)
    there = np.isfinite(found.value)
    return Series(found.time_s[there], found.value[there])


def _with_unit(value: float | None, unit: str) -> str:
    return "" if value is None else f"{number(value)} {unit}".strip()


def _unit(result: Result) -> str:
    workload = result.experiment.get("workload")
    unit = workload.get("unit") if isinstance(workload, dict) else None
    return unit if isinstance(unit, str) else ""


def _changed(path: Path) -> float:
    """When a file was last changed, as `time.time` tells it; 0 if it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _event(name: str, data: Any) -> bytes:
    """A server-sent event. JSON has no end of line in it, so that one line holds it."""
    return f"event: {name}\ndata: {json.dumps(data, separators=(',', ':'), allow_nan=False)}\n\n".encode()


def failure(error: FlatwaterError) -> bytes:
    """The message that the run cannot be watched any more."""
    return _event("failed", seen({"told": error.what}))
