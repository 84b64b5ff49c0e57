"""The charts of a terminal for cells that run elsewhere: of the first that is told of, as if it ran here."""

from __future__ import annotations

from flatwater.errors import UserError
from flatwater.experiment import cell_at
from flatwater.results import Cell
from flatwater.results.phases import MEASURE, WARMUP
from flatwater.results.schema import JournalLine
from flatwater.results.series import journal_line
from flatwater.runner.executors.executor import Course


class Shown:
    """Draws one of the cells of a course; when it is over, the next one of which something is told."""

    def __init__(self, course: Course, *, virtual: bool) -> None:
        self._course = course
        self._virtual = virtual
        self._cell: Cell | None = None
        self._plan = course.experiment
        self._phase = ""
        self._phase_start_s = 0.0

    def add(self, cell: Cell, piece: bytes) -> None:
        """Whole lines of the journal of a cell that runs."""
        if not self._course.reporter.draws or (self._cell is not None and self._cell.index != cell.index):
            return
        if self._cell is None:
            self._begin(cell)
        for raw in piece.splitlines():
            try:
                line = journal_line(raw, 0, cell.journal)
            except UserError:
                continue
            if "metrics" in line:
                self._draw(line)

    def end(self, cell: Cell) -> None:
        """A cell is over, or begins anew."""
        if self._cell is not None and self._cell.index == cell.index:
            self._cell = None

    def _begin(self, cell: Cell) -> None:
        self._cell, self._phase = cell, ""
        self._plan = cell_at(self._course.experiment, cell.index).experiment
        self._course.reporter.cell(self._course.number, self._course.total, cell.label, virtual=self._virtual)

    def _draw(self, line: JournalLine) -> None:
        reporter, workload = self._course.reporter, self._plan.workload
        if line["phase"] != self._phase:
            self._phase, self._phase_start_s = line["phase"], line["start_s"]
            lengths_s = {WARMUP: workload.warmup_s, MEASURE: workload.duration_s}
            timed = workload.steady_state != "snia"
            reporter.phase(self._phase, lengths_s.get(self._phase) if timed else None)
        metrics = {name: value for name, value in line["metrics"].items() if value is not None}
        throughput, p95_us = metrics.get("workload.throughput", 0.0), metrics.get("workload.latency_p95_us")
        reporter.interval(line["time_s"] - self._phase_start_s, throughput, workload.unit, p95_us)
        reporter.sampled(line["time_s"], metrics)
