"""A run under way: which of its cells is, what that one has recorded so far, and whether the run still lives."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from flatwater.analysis import judge
from flatwater.analysis.verdict import SAMPLES_MIN
from flatwater.report.units import seconds
from flatwater.results import Series, open_result
from flatwater.results.opening import read_manifest
from flatwater.results.started import resume_command
from flatwater.results.stored import exists
from flatwater.serve.alive import changed, why_alive
from flatwater.serve.folders import Stamp, stamp_of
from flatwater.serve.tail import Tail
from flatwater.serve.writers import Writers

THROUGHPUT = "workload.throughput"
_JUDGED = ("workload.ops_per_s", "workload.in_flight", "workload.oldest_in_flight_us")
#: The verdict so far is found anew after this time, and so is the cell that is under way.
JUDGED_S = 5.0


@dataclass(frozen=True)
class State:
    """How a run stands."""

    word: Literal["running", "ended", "stopped"]
    #: In a sentence.
    told: str
    #: Why it is said to have stopped; empty if it has not.
    why: str = ""


class Followed:
    """A run that is followed. Its methods are called by one thread at a time, and may read files.

    Of the series, those of `wanted` (`layer.metric`) are kept.

    Errors of opening it, and of `advance`: FlatwaterError for a result that cannot be read.
    """

    def __init__(self, path: Path, writers: Writers, wanted: Collection[str]) -> None:
        self._path = path
        self._writers = writers
        self._wanted = frozenset({*wanted, THROUGHPUT, *_JUDGED})
        self._stamp: Stamp = ()
        #: What the result says: running, complete, interrupted or failed.
        self.status = "running"
        #: The cell that is under way; None before the first one has a journal.
        self.tail: Tail | None = None
        #: Cells that are over.
        self.done = 0
        #: The verdict of the cell so far; empty while there is too little of it.
        self.verdict = ""
        self._found_s = self._judged_s = float("-inf")
        self.result = open_result(path)

    @property
    def over(self) -> bool:
        """Whether the run has ended, so that nothing more will come."""
        return self.status != "running"

    @property
    def unit(self) -> str:
        """The unit of the throughput; empty if the result does not tell."""
        workload = self.result.experiment.get("workload")
        unit = workload.get("unit") if isinstance(workload, dict) else None
        return unit if isinstance(unit, str) else ""

    @property
    def place(self) -> str:
        """Which cell of a sweep is under way; empty for a single one."""
        tail, cells = self.tail, len(self.result.cells)
        return f"Cell {tail.index + 1} of {cells}: {tail.label}. {self.done} are over." if tail and cells > 1 else ""

    def close(self) -> None:
        """Lets the files go."""
        if self.tail is not None:
            self.tail.close()

    def advance(self) -> bool:
        """Follows the run. True if what was read before is of another cell, or of one that began anew."""
        stamp = stamp_of(self._path)
        if stamp != self._stamp:
            self.status = read_manifest(self._path).status
            self._stamp = stamp
        began = self._find_cell()
        tail = self.tail
        if tail is None:
            return began
        began = tail.advance() or began
        if time.monotonic() - self._judged_s > JUDGED_S or self.over or began:
            self._judged_s = time.monotonic()
            self.verdict = self._judge(tail)
        return began

    def _find_cell(self) -> bool:
        """Turns to the cell that is under way, if the one before it is over."""
        now = time.monotonic()
        tail = self.tail
        if tail is not None and (self.over or not exists(tail.folder / "summary.json")) and exists(tail.folder):
            return False
        if now - self._found_s < JUDGED_S and tail is not None:
            return False
        self._found_s = now
        finished = {cell.index for cell in self.result.cells if exists(cell.folder / "summary.json")}
        self.done = len(finished)
        journals = [(changed(cell.journal), cell) for cell in self.result.cells]
        there = [(at, cell.index not in finished, cell) for at, cell in journals if at]
        if not there:
            return False
        _, _, newest = max(there, key=lambda one: (one[1], one[0]))
        if tail is not None and tail.index == newest.index:
            return False
        self.close()
        self.tail = Tail(newest, self._wanted)
        self.verdict = ""
        return True

    def _judge(self, tail: Tail) -> str:
        throughput = measured(tail, THROUGHPUT)
        if len(throughput) < SAMPLES_MIN:
            return ""
        record = self.result.experiment.get("record")
        told = record.get("interval_s") if isinstance(record, dict) else None
        interval_s = float(told) if isinstance(told, int | float) and told > 0 else 1.0
        completed, in_flight, oldest_us = (measured(tail, name) for name in _JUDGED)
        return judge(
            throughput, interval_s, self.unit, completed=completed, in_flight=in_flight, oldest_us=oldest_us
        ).text

    def unfinished(self, state: State) -> bool:
        """Whether it has stopped, and cells are missing."""
        return state.word == "stopped" or (self.over and self.status != "complete")

    def state(self) -> State:
        """How the run stands."""
        if self.over:
            return State("ended", f"The run is over: {self.status}.")
        alive = why_alive(self._path, self._writers)
        if alive:
            return State("running", alive)
        seen_last = "nothing was recorded yet"
        if self.tail is not None:
            seen_last = f"the last second was written {seconds(time.time() - changed(self.tail.journal))} ago"
        why = f"no process that can be seen from here writes it, and {seen_last}"
        kept = f"What was recorded is kept. {resume_command(self._path)} goes on with it."
        return State("stopped", f"It has stopped without an end: {why}. {kept}", why)


def measured(tail: Tail, name: str) -> Series:
    """The measured samples of a series, without the intervals in which it was not recorded."""
    layer, _, metric = name.partition(".")
    found = tail.measured(layer, metric)
    there = np.isfinite(found.value)
    return Series(found.time_s[there], found.value[there])
