"""The interface of an executor, and the course of cells that it runs."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from flatwater.experiment import Experiment, cell_at, cell_seconds
from flatwater.experiment.twin import FIELD as TWIN_FIELD
from flatwater.results import Cell, CellSummary, Result
from flatwater.results.facts import MachineFacts
from flatwater.runner.executors.remaining import Countdown, Remaining
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import LEFT_AFTER_S, Reporter, SweepProgress

#: Called for each finished cell: its summary (without histograms if another process ran it), the number of finished
#: cells, and the number of all cells.
OnCell = Callable[[CellSummary, int, int], None]


@dataclass(frozen=True)
class Took:
    """How long cells took: wall-clock seconds and processor seconds of the processes that ran them."""

    wall_s: float = 0.0
    cpu_s: float = 0.0

    def __add__(self, other: Took) -> Took:
        return Took(self.wall_s + other.wall_s, self.cpu_s + other.cpu_s)


class Clock:
    """Measures how long a cell takes, from the creation of the clock."""

    def __init__(self) -> None:
        self._wall_s, self._cpu_s = time.perf_counter(), time.process_time()

    def took(self) -> Took:
        """The time since the creation of the clock."""
        return Took(time.perf_counter() - self._wall_s, time.process_time() - self._cpu_s)


@dataclass
class Course:
    """The cells that a run has to do. The executor takes them from here and stores their outcomes here."""

    experiment: Experiment
    #: The result folder, open for new cells.
    result: Result
    #: The cells to run, in starting order.
    cells: Sequence[Cell]
    reporter: Reporter
    #: When it is set, the executor ends the running cells and returns.
    interrupt: Interrupt
    on_cell: OnCell
    #: The number of cells that an earlier run has finished.
    done_before: int = 0
    finished: int = field(default=0, init=False)
    failed: int = field(default=0, init=False)
    #: The summary of the first cell that failed.
    first_failure: CellSummary | None = field(default=None, init=False)
    interrupted: str | None = field(default=None, init=False)
    #: Time of the cells themselves, without the overhead of distributing them.
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
        """The number of cells of the whole experiment."""
        return len(self.result.cells)

    @property
    def number(self) -> int:
        """The number of the next cell for the display, from 1 on."""
        return self.done_before + self.finished + 1

    def keep(self, summary: CellSummary, took: Took | None = None) -> None:
        """Counts a finished cell, whose files are in the result."""
        self.took += took or Took()
        if summary.status == "interrupted":
            self.interrupted = summary.error or "interrupted by the user"
        else:
            self.finished += 1
            # A failed cell may have ended at once: its time is not typical.
            is_typical = summary.status == "complete" and took is not None
            self.remaining.finish(summary.cell, took.wall_s if is_typical and took is not None else None)
        if summary.status == "failed":
            self.failed += 1
            self.first_failure = self.first_failure or summary
        self.on_cell(summary, self.done_before + self.finished, self.total)

    def tell(self, running: int, cells: Sequence[str] = ()) -> None:
        """Shows the progress: `running` cells run now; `cells` has a line for each real cell on another machine."""
        if self.total > 1 or cells:
            done = self.done_before + self.finished
            left_s = self.countdown.to_show(self.left_s(running))
            shares = self.remaining.shares
            self.reporter.sweep(SweepProgress(done, running, self.failed, self.total, left_s, tuple(cells), shares))

    @property
    def over(self) -> bool:
        """Whether all cells have finished."""
        return self.finished == len(self.cells)

    def left_s(self, running: int) -> float | None:
        """Estimated seconds for the remaining cells."""
        if time.monotonic() - self._begun < LEFT_AFTER_S:
            return None
        return self.remaining.left_s(running)

    def parted(self) -> tuple[list[Cell], list[Cell]]:
        """The modelled cells and the real ones, both in their order. Real cells need the machine for themselves."""
        modelled: list[Cell] = []
        real: list[Cell] = []
        for cell in self.cells:
            (real if self.remaining.is_real(cell.index) else modelled).append(cell)
        return modelled, real


def tell_together(courses: Sequence[Course], running: int) -> None:
    """Shows the progress of several courses as one, on the reporter of the first."""
    done = sum(course.done_before + course.finished for course in courses)
    failed, total = (sum(counts) for counts in zip(*((one.failed, one.total) for one in courses), strict=True))
    # Experiments are computed at different speeds: there is no total until each of them has an estimate.
    lefts_s = [course.left_s(running) for course in courses if not course.over]
    known = [left_s for left_s in lefts_s if left_s is not None]
    left_s = sum(known) if len(known) == len(lefts_s) else None
    shares = tuple(share for course in courses for share in course.remaining.shares)
    shown_s = courses[0].countdown.to_show(left_s)
    courses[0].reporter.sweep(SweepProgress(done, running, failed, total, shown_s, (), shares))


class Executor(Protocol):
    """Runs cells, on this machine or on others."""

    def open(self, experiment: Experiment, reporter: Reporter) -> MachineFacts:
        """Connects to the place where the cells will run, before any file is made; its facts for `machine.json`.

        Errors: UserError, FlatwaterError when no cell can run there.
        """
        ...

    def run(self, course: Course) -> None:
        """Runs and keeps the cells of a course. Returns when all are finished or when the user asked to stop.

        A failed cell is kept with its error, and the others still run. Errors: UserError when the first cell shows that
        the experiment cannot run at all; FlatwaterError when no cell can run any more; OSError when the result cannot
        be written.
        """
        ...

    def close(self) -> None:
        """Frees all resources."""
        ...


def is_real(experiment: Experiment) -> bool:
    """Whether a cell measures this machine, so that nothing else may run at the same time: a layer below its workload
    is real, or is a modelled one that is served in real time.
    """
    layers = experiment.layers
    below = any(layers[layer] == "real" for layer in ("database", "cache", "storage"))
    return below or bool(getattr(experiment.storage, "real_time", False))


def is_real_cell(experiment: Experiment, index: int) -> bool:
    """Whether one cell of an experiment is real. The cell is built only if the cells differ in that."""
    swept = any(name.endswith((".kind", ".real_time")) or name == TWIN_FIELD for name in experiment.sweep.fields)
    return is_real(cell_at(experiment, index).experiment if swept else experiment)
