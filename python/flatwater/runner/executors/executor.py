"""What an executor is, and the course of cells that it is given."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from flatwater.experiment import Experiment, cell_at, cell_seconds
from flatwater.results import Cell, CellSummary, Result
from flatwater.results.facts import MachineFacts
from flatwater.runner.executors.remaining import Countdown, Remaining
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import LEFT_AFTER_S, Reporter, SweepProgress

#: Told each finished cell's summary (without histograms, when it comes from another process), how many are done, and
#: how many there are.
OnCell = Callable[[CellSummary, int, int], None]


@dataclass(frozen=True)
class Took:
    """How long cells took: seconds of the processes that ran them, and of their processors."""

    wall_s: float = 0.0
    cpu_s: float = 0.0

    def __add__(self, other: Took) -> Took:
        return Took(self.wall_s + other.wall_s, self.cpu_s + other.cpu_s)


class Clock:
    """Measures what a cell takes, from now on."""

    def __init__(self) -> None:
        self._wall_s, self._cpu_s = time.perf_counter(), time.process_time()

    def took(self) -> Took:
        """What it took so far."""
        return Took(time.perf_counter() - self._wall_s, time.process_time() - self._cpu_s)


@dataclass
class Course:
    """The cells that a run has to do: what an executor is given, and where it tells what became of them."""

    experiment: Experiment
    #: Open for cells to be added.
    result: Result
    #: The cells to run, in the order in which to begin them.
    cells: Sequence[Cell]
    reporter: Reporter
    #: An executor that sees it asked ends what is under way, and returns.
    interrupt: Interrupt
    on_cell: OnCell
    #: Cells that an earlier run had done.
    done_before: int = 0
    finished: int = field(default=0, init=False)
    failed: int = field(default=0, init=False)
    #: Status and error of the first cell that did not end well.
    first_failure: CellSummary | None = field(default=None, init=False)
    interrupted: str | None = field(default=None, init=False)
    #: What the cells themselves took, without what it took to hand them out.
    took: Took = field(default=Took(), init=False)
    remaining: Remaining = field(init=False)
    countdown: Countdown = field(default_factory=Countdown, init=False)
    _begun: float = field(default_factory=lambda: time.monotonic(), init=False)

    def __post_init__(self) -> None:
        real = functools.cache(functools.partial(is_real_cell, self.experiment))
        self.remaining = Remaining(cell_seconds(self.experiment), real)
        self.remaining.expect(cell.index for cell in self.cells)

    @property
    def total(self) -> int:
        """Cells of the whole experiment."""
        return len(self.result.cells)

    @property
    def number(self) -> int:
        """The number that people count the next cell by, from 1 on."""
        return self.done_before + self.finished + 1

    def keep(self, summary: CellSummary, took: Took | None = None) -> None:
        """A cell is over, and its files are in the result."""
        self.took += took or Took()
        if summary.status == "interrupted":
            self.interrupted = summary.error or "interrupted by the user"
        else:
            self.finished += 1
            # One that failed may have ended at once.
            tells = summary.status == "complete" and took is not None
            self.remaining.finish(summary.cell, took.wall_s if tells and took is not None else None)
        if summary.status == "failed":
            self.failed += 1
            self.first_failure = self.first_failure or summary
        self.on_cell(summary, self.done_before + self.finished, self.total)

    def tell(self, running: int, cells: Sequence[str] = ()) -> None:
        """Shows how far the sweep is: `running` cells are under way; `cells` has a line for each real one elsewhere."""
        if self.total > 1:
            done = self.done_before + self.finished
            left_s = self.countdown.tell(self.left_s(running))
            shares = self.remaining.shares
            self.reporter.sweep(SweepProgress(done, running, self.failed, self.total, left_s, tuple(cells), shares))

    @property
    def over(self) -> bool:
        """Whether all its cells have ended."""
        return self.finished == len(self.cells)

    def left_s(self, running: int) -> float | None:
        """Seconds for the rest of the cells, by what those took that ran."""
        if time.monotonic() - self._begun < LEFT_AFTER_S:
            return None
        return self.remaining.left_s(running)

    def parted(self) -> tuple[list[Cell], list[Cell]]:
        """The modelled cells and the real ones, each in their order. Real ones have a machine for themselves."""
        modelled: list[Cell] = []
        real: list[Cell] = []
        for cell in self.cells:
            (real if self.remaining.is_real(cell.index) else modelled).append(cell)
        return modelled, real


def tell_together(courses: Sequence[Course], running: int) -> None:
    """Shows how far several courses are as one, on the first one's reporter."""
    done = sum(course.done_before + course.finished for course in courses)
    failed, total = (sum(counts) for counts in zip(*((one.failed, one.total) for one in courses), strict=True))
    # Experiments differ in how fast they are computed: as long as one has not begun, the rest is not known.
    lefts_s = [course.left_s(running) for course in courses if not course.over]
    known = [left_s for left_s in lefts_s if left_s is not None]
    left_s = sum(known) if len(known) == len(lefts_s) else None
    shares = tuple(share for course in courses for share in course.remaining.shares)
    told_s = courses[0].countdown.tell(left_s)
    courses[0].reporter.sweep(SweepProgress(done, running, failed, total, told_s, (), shares))


class Executor(Protocol):
    """Runs cells somewhere."""

    def open(self, experiment: Experiment, reporter: Reporter) -> MachineFacts:
        """Gets ready before anything is made; what `machine.json` says of where the cells will run.

        Errors: UserError, FlatwaterError when no cell can run there.
        """
        ...

    def run(self, course: Course) -> None:
        """Runs the cells of a course, and keeps each; returns when all are over, or the user asked to stop.

        A cell that fails is kept with its error, and the rest goes on. Errors: UserError when the first cell shows
        that the experiment cannot run at all; FlatwaterError when nothing can go on; OSError when the result cannot
        be written.
        """
        ...

    def close(self) -> None:
        """Lets go of everything."""
        ...


def is_real(experiment: Experiment) -> bool:
    """Whether a cell measures this machine, so that nothing may run beside it: a layer below its workload is real, or
    a modelled one is served in real time.
    """
    layers = experiment.layers
    below = any(layers[layer] == "real" for layer in ("database", "cache", "storage"))
    return below or bool(getattr(experiment.storage, "real_time", False))


def is_real_cell(experiment: Experiment, index: int) -> bool:
    """Whether one of an experiment's cells is real; the cell is made only where they differ in that."""
    swept = any(name.endswith((".kind", ".real_time")) for name in experiment.sweep.fields)
    return is_real(cell_at(experiment, index).experiment if swept else experiment)
