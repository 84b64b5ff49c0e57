"""Running one cell: preconditioning, warm-up, measurement, read-back; then its summary."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flatwater._engine import EngineError, Run
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.experiment import PlannedCell
from flatwater.results import Cell, CellSummary, Result
from flatwater.results.folder import now_utc, phases_of_journal
from flatwater.results.schema import CellStatus, Condition
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.progress import Reporter
from flatwater.runner.schedule import DRAIN, MEASURE, Schedule, Timed, UntilSteady
from flatwater.runner.spec import derived_seed
from flatwater.runner.stack import Stack
from flatwater.runner.summary import summarise_cell

if TYPE_CHECKING:
    from flatwater._engine import Interval

#: How often the runner looks up from waiting for an interval.
POLL_S = 0.25
#: After Ctrl-C the result is written within two seconds, whether the device answers or not.
INTERRUPT_PATIENCE_S = 1.0
#: At the end of a run, how long a device may take to finish what is outstanding.
DRAIN_PATIENCE_S = 60.0


class CellRunner:
    """Runs one cell of an experiment into its folder."""

    def __init__(
        self, result: Result, cell: Cell, plan: PlannedCell, stack: Stack, reporter: Reporter, interrupt: Interrupt
    ) -> None:
        self._result = result
        self._cell = cell
        self._plan = plan
        self._experiment = plan.experiment
        self._stack = stack
        self._reporter = reporter
        self._interrupt = interrupt
        #: What is wrong with how it was measured, for the summary's warnings.
        self._warnings: list[str] = []
        self._killed_at = 0.0

    def run(self) -> CellSummary:
        """Runs the cell and keeps its summary, whatever happened: the summary's status tells."""
        started_at = now_utc()
        measured_s = self._resumable()
        status: CellStatus = "complete"
        failure = None
        conditions: list[Condition] = []
        # What a kill or a power cut takes of a modelled cell, another run computes again.
        durable = not self._experiment.in_virtual_time
        unit = self._experiment.workload.unit
        with Journal(self._cell.journal, unit, self._cell.index, durable=durable) as journal:
            try:
                self._stack.prepare(self._reporter, self._interrupt)
                journal.probes = self._stack.probes()
                self._run_phases(journal, measured_s)
                if self._interrupt.asked:
                    status, failure = "interrupted", "interrupted by the user"
                else:
                    conditions = self._stack.check(self._reporter)
            except Interrupted as error:
                status, failure = "interrupted", str(error)
            except UserError:
                raise
            except FlatwaterError as error:
                status, failure = "failed", self._stack.kept(str(error), self._logs)
            except EngineError as error:
                status, failure = "failed", with_hint(str(error))
            finally:
                # Whatever else it was (a reader that went away, a second Ctrl-C): nothing is left running.
                self._let_go(journal)
        broken = [condition for condition in conditions if condition.holds is False]
        if broken and status == "complete":
            numbers = ", ".join(str(condition.number) for condition in broken)
            status, failure = "failed", f"the data are not consistent: TPC-C condition {numbers} of clause 3.3.2"
        summary = summarise_cell(
            self._result,
            self._cell,
            self._plan,
            self._stack,
            journal,
            status=status,
            failure=failure,
            started_at=started_at,
            warnings=self._warnings,
        )
        summary.consistency = conditions
        self._result.finish_cell(self._cell, summary, durable=durable)
        return summary

    @property
    def _logs(self) -> Path:
        """Where logs of the cell are kept."""
        return self._result.path / "servers" / f"{self._cell.index:04}"

    def _let_go(self, journal: Journal) -> None:
        """Ends what the cell used; that it does not end well is worth a warning, but the measurement stands."""
        # What happened since the last look belongs to the record.
        with suppress(FlatwaterError):
            self._stack.watch(journal, None)
        for probe in journal.probes:
            close = getattr(probe, "close", None)
            if close is not None:
                close()
        try:
            self._stack.end_cell(self._logs)
        except FlatwaterError as error:
            self._warnings.append(str(error))

    def _resumable(self) -> float:
        """Seconds that a killed run measured of this cell; 0 (and an empty folder) when it must start anew."""
        journal = self._cell.journal
        phases = phases_of_journal(journal) if journal.exists() else []
        timed = self._experiment.workload.steady_state == "none"
        if self._stack.resumable and timed and phases and phases[-1].name == MEASURE:
            self._killed_at = journal.stat().st_mtime
            return sum(phase.end_s - phase.start_s for phase in phases if phase.name == MEASURE)
        # What was before the measurement (preconditioning, rounds without a gap) only counts in one piece.
        if self._cell.folder.exists():
            shutil.rmtree(self._cell.folder)
        return 0.0

    def _run_phases(self, journal: Journal, measured_s: float) -> None:
        experiment, workload, seed = self._experiment, self._experiment.workload, self._plan.seed
        before: Run | None = None
        precondition = self._stack.precondition_spec(seed)
        if measured_s:
            gap_s = max(0.0, time.time() - self._killed_at)
            journal.event("seam", f"resumed after {gap_s:.0f} s in which nothing ran")
            self._reporter.note(f"resuming after {measured_s:.0f} s of this cell")
            seed = derived_seed(seed, f"resumed at {journal.at_s}")
        elif precondition is not None:
            before = self._drive(journal, precondition, lambda start_s: ("precondition", None))
        if self._interrupt.asked:
            return
        schedule: Schedule = Timed(experiment, measured_s)
        if workload.steady_state == "snia":
            schedule = UntilSteady(experiment)
        spec = self._stack.workload_spec(seed)
        run = before
        if measured_s < workload.duration_s - experiment.record.interval_s / 2 or workload.steady_state == "snia":
            run = self._drive(journal, spec, schedule.phase, schedule, after=before)
        read_back = self._stack.read_back_spec(spec)
        if read_back is not None and not self._interrupt.asked:
            self._drive(journal, read_back, lambda start_s: ("verify", None), after=run)

    def _drive(
        self,
        journal: Journal,
        spec: dict[str, Any],
        phase_of: Callable[[float], tuple[str, float | None]],
        schedule: Schedule | None = None,
        after: Run | None = None,
    ) -> Run:
        """Runs one workload to its end, and records it.

        Errors: EngineError with the place of the first failed request.
        """
        run = self._stack.start(spec, after)
        offset_s, shown = journal.at_s, ""
        stop_by: float | None = None
        measured_since: float | None = None
        while True:
            measured_s = None if measured_since is None else time.monotonic() - measured_since
            self._stack.watch(journal, measured_s)
            if self._interrupt.asked and (stop_by is None or stop_by > time.monotonic() + INTERRUPT_PATIENCE_S):
                run.stop()
                stop_by = time.monotonic() + INTERRUPT_PATIENCE_S
            if stop_by is not None and time.monotonic() > stop_by:
                why = self._stack.trouble or "what they went to does not answer"
                stuck = f"requests were still outstanding when the run ended: {why}"
                journal.event("warning", stuck)
                if not self._interrupt.asked:
                    raise FlatwaterError(stuck, hint="see dmesg; what was measured is kept")
                self._warnings.append(stuck)
                break
            try:
                interval = run.next_interval(POLL_S)
            except StopIteration:
                break
            if interval is None or (stop_by is not None and not _is_owed(interval)):
                continue
            start_s, end_s = interval["start_s"], interval["end_s"]
            # A figure over the last milliseconds is noise; but what failed in them, or was written by them, counts.
            short = end_s - start_s < self._experiment.record.interval_s / 2
            if short and schedule is not None and stop_by is None and run.failure() is None:
                continue
            phase, length_s = (DRAIN, None) if stop_by is not None else phase_of(start_s)
            if phase != shown:
                shown, phase_start_s = phase, start_s
                self._reporter.phase(phase, length_s)
                if phase == MEASURE and measured_since is None:
                    measured_since = time.monotonic() - (end_s - start_s)
            metrics = journal.interval(interval, offset_s, phase)
            throughput = metrics["workload.throughput"]
            unit = self._experiment.workload.unit
            p95_us = metrics.get("workload.latency_p95_us")
            self._reporter.interval(end_s - phase_start_s, throughput, unit, p95_us)
            if schedule is not None and stop_by is None and schedule.over(start_s, end_s, throughput):
                run.stop()
                stop_by = time.monotonic() + DRAIN_PATIENCE_S
            for note in schedule.notes if schedule is not None else []:
                journal.event("round", note)
                self._reporter.note(note)
            if schedule is not None:
                schedule.notes.clear()
        warning = run.warning()
        if warning is not None:
            journal.event("warning", warning)
            self._warnings.append(warning)
        failure = run.failure()
        if failure is not None:
            journal.event("fault", failure)
            if not spec["continue_on_error"]:
                raise EngineError(failure)
        return run


def _is_owed(interval: Interval) -> bool:
    """After the end, an interval is worth recording if a device still owes answers, or has just made data durable."""
    return interval["metrics"]["in_flight"] > 0 or interval["totals"].get("fsync", (0,))[0] > 0


def with_hint(text: str) -> str:
    """Adds what to do to an engine's failure, where that is known."""
    hints = {
        "os error 24": "fewer workload.files or workload.connections, or more with ulimit -n",
        "os error 28": "free space, or a smaller storage.size",
        "O_DIRECT: Invalid argument": "this file system has no O_DIRECT: workload.direct = false",
        "of the device failed: Input/output error": "the modelled medium failed: see storage.read_errors_per_s",
        "(os error 5)": "the device failed: see dmesg",
    }
    if "(hint: " in text:
        return text
    hint = next((f" (hint: {hint})" for sign, hint in hints.items() if sign in text), "")
    return text + hint
