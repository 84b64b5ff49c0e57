"""Running one cell: preconditioning, warm-up, measurement, read-back; then its summary."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from flatwater._engine import EngineError, Run
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.experiment import Fileio, PlannedCell, QueryLog, Timing
from flatwater.health import Machine
from flatwater.health.around import DriveWatch
from flatwater.results import Cell, CellSummary, Result
from flatwater.results.health import CellHealth
from flatwater.results.phases import DRAIN, MEASURE, PRECONDITION, VERIFY, measured_s
from flatwater.results.schema import CellStatus, Condition, now_utc
from flatwater.runner.errors import judge_errors, placed_error
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.progress import Reporter
from flatwater.runner.resuming import (
    CannotResume,
    Left,
    asides,
    delete_if_repeated,
    note_of_setting_aside,
    read_left,
    set_aside,
)
from flatwater.runner.schedule import Schedule, Timed, UntilSteady
from flatwater.runner.seeds import derived_seed
from flatwater.runner.stack.layers.running import Observation, Running
from flatwater.runner.stack.stack import Stack
from flatwater.runner.summary import keep_without_running, summarise_cell
from flatwater.runner.thresholds import judge_cell

if TYPE_CHECKING:
    from flatwater._engine import Interval
    from flatwater.plan.run import Plan

#: How long the runner waits for an interval before it checks for Ctrl-C and for crashes, seconds.
POLL_S = 0.25
#: After Ctrl-C the result is written within two seconds, whether the device answers or not.
INTERRUPT_PATIENCE_S = 1.0
#: At the end of a run, how long a device may take to complete the outstanding requests.
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
        #: Doubts about the measurement, for the warnings of the summary.
        self._warnings: list[str] = []
        self._left = Left()

    def run(self) -> CellSummary:
        """Runs the cell and stores its summary, also of a cell that fails: the summary has its status."""
        left = read_left(self._cell, self._experiment)
        why_not = self._stack.database.why_not_anew(left)
        if why_not is not None:
            return keep_without_running(self._cell, self._experiment, "failed", why_not)
        self._left = self._resume_or_set_aside(left)
        return self._run()

    def _run(self) -> CellSummary:
        started_at = now_utc()
        status: CellStatus = "complete"
        failure, begun, over = None, False, False
        conditions: list[Condition] = []
        health: CellHealth | None = None
        # A modelled cell that a kill or a power failure destroys can be computed again: no need to wait for the disk.
        durable = not self._experiment.in_virtual_time
        unit, interval_s = self._experiment.workload.unit, self._experiment.record.interval_s
        index = self._cell.index
        with Journal(self._cell.journal, unit, index, interval_s=interval_s, durable=durable) as journal:
            try:
                self._prepare(journal)
                watch = self._watch_drives()
                journal.probes = [*self._stack.probes(), *(watch.probes() if watch is not None else [])]
                begun = True
                self._run_phases(journal)
                ended_at_will = self._interrupt.requested and self._ended_at_will(journal)
                if not self._interrupt.requested:
                    conditions = self._stack.workload.check(self._reporter)
                elif not ended_at_will:
                    status, failure = "interrupted", "interrupted by the user"
                # Not before the check, which the user may interrupt, too: the data then wait to be gone on with.
                over = ended_at_will or not self._interrupt.requested
                health = self._end_watch(watch, journal)
            except Interrupted as error:
                status, failure = "interrupted", str(error)
            except (FlatwaterError, EngineError) as raised:
                placed = placed_error(raised, self._experiment)
                if isinstance(placed, UserError) and not measured_s(journal.phases):
                    raise placed from None  # the experiment cannot be run as it is written
                status, over, told = "failed", begun, self._stack.database.explained(str(placed))
                of_engine = isinstance(raised, EngineError)
                failure = with_hint(told) if of_engine else self._stack.database.kept(told, self._logs)
            finally:
                # Also for other exceptions (a closed output, a second Ctrl-C): nothing is left running.
                can_go_on = self._experiment.workload.cannot_go_on is None
                self._end(journal, resumable=not over and can_go_on and measured_s(journal.phases) > 0)
        if status == "failed" and not begun and self._left.measured_s:
            # Only the layers below could not be prepared: the earlier measurement waits for the next run.
            return keep_without_running(self._cell, self._experiment, "failed", failure or "")
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
        judge_errors(summary, self._experiment.workload)
        summary.health = health or summary.health
        summary.thresholds = judge_cell(self._result, self._cell, self._plan, summary)
        self._cell.finish(summary, durable=durable)
        if self._stack.recomputes and status != "interrupted":
            self._compare_recomputed(summary)
        return summary

    def _ended_at_will(self, journal: Journal) -> bool:
        """Whether the user ended a cell that may end at any time, after something was measured."""
        return self._stack.workload.ends_at_will and measured_s(journal.phases) > 0

    def _watch_drives(self) -> DriveWatch | None:
        """The drives below, read before the run; None where nothing real is below."""
        places = self._stack.real_places(self._experiment)
        return DriveWatch(places, Machine(given_up=lambda: self._interrupt.requested)) if places else None

    def _end_watch(self, watch: DriveWatch | None, journal: Journal) -> CellHealth | None:
        """The drives after the run. One that was interrupted ends at once: nobody waits for a drive."""
        if watch is None or self._interrupt.requested:
            return None
        health = watch.end(journal.operations, _one_of(self._experiment.workload))
        self._warnings += health.warnings if health is not None else []
        return health

    @property
    def _logs(self) -> Path:
        """The folder for the logs of the cell."""
        return self._result.path / "servers" / f"{self._cell.index:04}"

    def _end(self, journal: Journal, *, resumable: bool) -> None:
        """Ends all layers of the cell. A failure here is a warning: the measurement remains valid.

        `resumable`: a later run may continue the cell with what its layers leave.
        """
        # Records what happened since the last interval.
        with suppress(FlatwaterError):
            self._stack.watch(journal, None)
        for probe in journal.probes:
            close = getattr(probe, "close", None)
            if close is not None:
                close()
        try:
            self._stack.end_cell(self._logs, resumable=resumable)
        except FlatwaterError as error:
            self._warnings.append(str(error))

    def _resume_or_set_aside(self, left: Left) -> Left:
        """What an earlier run left of this cell. If the cell cannot be resumed with it, it is set aside."""
        if not left.measured_s:
            # Preconditioning and a warm-up count only together with the measurement that follows them.
            self._set_aside(left, "its journal is gone")
            return Left()
        why_not = left.why_not or self._stack.take_up(left)
        if why_not is None:
            return left
        self._set_aside(left, why_not)
        return Left()

    def _set_aside(self, left: Left, why: str) -> None:
        aside = set_aside(self._cell)
        if aside is not None and not self._stack.recomputes:
            self._reporter.note(note_of_setting_aside(left, aside, why))

    def _prepare(self, journal: Journal) -> None:
        """Prepares all layers: as the earlier run left them, or anew."""
        try:
            self._stack.prepare(self._reporter, self._interrupt)
        except CannotResume as error:
            # The layers raise it before they change anything that the earlier run left.
            self._set_aside(self._left, str(error))
            self._left = Left()
            journal.begin_anew()
            self._stack.prepare(self._reporter, self._interrupt)

    def _compare_recomputed(self, summary: CellSummary) -> None:
        """Deletes what was set aside if the new journal has the same lines; warns if it has others."""
        others = [aside for aside in asides(self._cell) if not delete_if_repeated(aside, self._cell.journal)]
        if others:
            summary.warnings += [
                f"an earlier run of this cell had another result: it is in {aside}" for aside in others
            ]
            self._cell.finish(summary)

    def _run_phases(self, journal: Journal) -> None:
        experiment, workload, seed = self._experiment, self._experiment.workload, self._plan.seed
        before: Running | None = None
        precondition = self._stack.workload.precondition_plan(seed)
        left, measured_s = self._left, self._left.measured_s
        if measured_s:
            gap_s = max(0.0, time.time() - left.ended_at)
            journal.event("seam", f"resumed after {gap_s:.0f} s in which nothing ran{self._stack.database.seam}")
            self._reporter.note(f"resuming after {measured_s:.0f} s of this cell")
            seed = derived_seed(seed, f"resumed at {journal.at_s}")
        elif precondition is not None:
            before = self._record_run(journal, precondition, lambda start_s: (PRECONDITION, None))
        if self._interrupt.requested:
            return
        schedule: Schedule = Timed(experiment, measured_s)
        if workload.steady_state == "snia":
            schedule = UntilSteady(experiment)
        plan = self._stack.workload.plan(seed)
        drain = self._stack.workload.drain_plan(plan) if left.over and not left.drained else None
        run = before
        if not left.over:
            run = self._record_run(journal, plan, schedule.phase, schedule, after=before)
        elif drain is not None:
            run = self._record_run(journal, drain, lambda start_s: (DRAIN, None))
        read_back = self._stack.workload.read_back_plan(plan)
        if read_back is not None and not self._interrupt.requested:
            self._record_run(journal, read_back, lambda start_s: (VERIFY, None), after=run)

    def _record_run(
        self,
        journal: Journal,
        plan: Plan | Observation,
        phase_of: Callable[[float], tuple[str, float | None]],
        schedule: Schedule | None = None,
        after: Running | None = None,
    ) -> Running:
        """Runs one workload to its end, and records its intervals.

        Errors: EngineError with the place of the first failed request.
        """
        run = self._stack.workload.start(plan, after if isinstance(after, Run) else None)
        offset_s, shown = journal.at_s, ""
        stop_by: float | None = None
        measured_since: float | None = None
        while True:
            measured_s = None if measured_since is None else time.monotonic() - measured_since + self._left.measured_s
            self._stack.watch(journal, measured_s)
            if self._interrupt.requested and (stop_by is None or stop_by > time.monotonic() + INTERRUPT_PATIENCE_S):
                run.stop()
                stop_by = time.monotonic() + INTERRUPT_PATIENCE_S
            if stop_by is not None and time.monotonic() > stop_by:
                why = self._stack.database.trouble or "what they went to does not answer"
                stuck = f"requests were still outstanding when the run ended: {why}"
                journal.event("warning", stuck)
                if not self._interrupt.requested:
                    raise FlatwaterError(stuck, hint="see dmesg; what was measured is kept")
                self._warnings.append(stuck)
                break
            try:
                interval = run.next_interval(POLL_S)
            except StopIteration:
                break
            if interval is None or (stop_by is not None and not _has_news(interval)):
                continue
            start_s, end_s = interval["start_s"], interval["end_s"]
            # The figures of a short last interval are noise. But it counts if something failed in it, or if it drained,
            # or if it holds the last statements of a log, each of which is accounted for.
            short = end_s - start_s < self._experiment.record.interval_s / 2
            needed = isinstance(self._experiment.workload, QueryLog) and _has_work(interval)
            if short and not needed and schedule is not None and stop_by is None and run.failure() is None:
                continue
            phase, length_s = (DRAIN, None) if stop_by is not None else phase_of(start_s)
            if phase != shown:
                shown, phase_start_s = phase, start_s
                self._reporter.phase(phase, length_s)
                if phase == MEASURE and measured_since is None:
                    measured_since = time.monotonic() - (end_s - start_s)
            metrics = journal.interval(interval, offset_s, phase)
            throughput = metrics.get("workload.throughput", 0.0)
            unit = self._experiment.workload.unit
            p95_us = metrics.get("workload.latency_p95_us")
            self._reporter.interval(end_s - phase_start_s, throughput, unit, p95_us)
            self._reporter.sampled(journal.at_s, metrics)
            if schedule is not None and stop_by is None and schedule.over(start_s, end_s, throughput):
                run.stop()
                stop_by = time.monotonic() + DRAIN_PATIENCE_S
            for note in schedule.notes if schedule is not None else []:
                journal.event("round", note)
                self._reporter.note(note)
            if schedule is not None:
                schedule.notes.clear()
        self._tell_end(run, journal)
        return run

    def _tell_end(self, run: Running, journal: Journal) -> None:
        """Records what a run says of itself at its end. Errors: EngineError with the failure that ended it."""
        warning, failure, ended_by = run.warning(), run.failure(), run.ended_by()
        if warning is not None:
            journal.event("warning", warning)
            self._warnings.append(warning)
        for one in dict.fromkeys((failure, ended_by)):
            if one is not None:
                journal.event("fault", self._experiment.placed(one))
        if ended_by is not None:
            raise EngineError(self._experiment.placed(ended_by))


def _one_of(workload: Timing) -> str:
    """What an operation of a workload is, in one word."""
    if isinstance(workload, Fileio):
        return "request"
    return "statement" if isinstance(workload, QueryLog) else "transaction"


def _has_work(interval: Interval) -> bool:
    """Whether anything was done in an interval."""
    return any(done for done, _, _ in interval["totals"].values())


def _has_news(interval: Interval) -> bool:
    """Whether an interval after the end is recorded: requests are outstanding or failed, or an fsync has completed."""
    totals = interval["totals"]
    failed = any(errors for _, _, errors in totals.values())
    return failed or interval["metrics"]["in_flight"] > 0 or totals.get("fsync", (0,))[0] > 0


def with_hint(text: str) -> str:
    """The message of an engine's failure, with a hint if there is one."""
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
