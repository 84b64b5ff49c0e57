"""Running one cell: preconditioning, warm-up, measurement, read-back; then its summary."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flatwater._engine import EngineError, FileioRun
from flatwater.analysis import analyse
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.experiment import PlannedCell, published_for
from flatwater.probe import describe_storage, start_probes
from flatwater.results import Cell, CellSummary, Phase, Published, Result, Series
from flatwater.results.folder import now_utc, phases_of_journal
from flatwater.results.schema import CellStatus
from flatwater.results.series import EMPTY, read_journal
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.prepare import prepare_target
from flatwater.runner.progress import Reporter
from flatwater.runner.schedule import APPROACH, DRAIN, MEASURE, Schedule, Timed, UntilSteady
from flatwater.runner.spec import derived_seed, precondition_spec, read_back_spec, workload_spec
from flatwater.runner.tally import Tally
from flatwater.runner.target import Target

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
        self, result: Result, cell: Cell, plan: PlannedCell, target: Target, reporter: Reporter, interrupt: Interrupt
    ) -> None:
        self._result = result
        self._cell = cell
        self._plan = plan
        self._experiment = plan.experiment
        self._target = target
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
        with Journal(self._cell.journal, self._experiment.workload.unit, self._cell.index) as journal:
            try:
                prepare_target(self._experiment, self._target, self._plan.seed, self._reporter, self._interrupt)
                journal.probes = start_probes(self._target.paths[0])
                self._run_phases(journal, measured_s)
                if self._interrupt.asked:
                    status, failure = "interrupted", "interrupted by the user"
            except Interrupted as error:
                status, failure = "interrupted", str(error)
            except UserError:
                raise
            except FlatwaterError as error:
                status, failure = "failed", str(error)
            except EngineError as error:
                status, failure = "failed", _with_hint(str(error))
        return self._finish(journal, status, failure, started_at)

    def _resumable(self) -> float:
        """Seconds that a killed run measured of this cell; 0 (and an empty folder) when it must start anew."""
        journal = self._cell.journal
        phases = phases_of_journal(journal) if journal.exists() else []
        if self._experiment.workload.steady_state == "none" and phases and phases[-1].name == MEASURE:
            self._killed_at = journal.stat().st_mtime
            return sum(phase.end_s - phase.start_s for phase in phases if phase.name == MEASURE)
        # What was before the measurement (preconditioning, rounds without a gap) only counts in one piece.
        if self._cell.folder.exists():
            shutil.rmtree(self._cell.folder)
        return 0.0

    def _run_phases(self, journal: Journal, measured_s: float) -> None:
        experiment, workload, seed = self._experiment, self._experiment.workload, self._plan.seed
        before: FileioRun | None = None
        if measured_s:
            gap_s = max(0.0, time.time() - self._killed_at)
            journal.event("seam", f"resumed after {gap_s:.0f} s in which nothing ran")
            self._reporter.note(f"resuming after {measured_s:.0f} s of this cell")
            seed = derived_seed(seed, f"resumed at {journal.at_s}")
        elif workload.precondition_passes > 0:
            spec = precondition_spec(experiment, self._target, derived_seed(seed, "precondition"))
            before = self._drive(journal, spec, lambda start_s: ("precondition", None))
        if self._interrupt.asked:
            return
        schedule: Schedule = Timed(experiment, measured_s)
        if workload.steady_state == "snia":
            schedule = UntilSteady(experiment)
        spec = workload_spec(experiment, self._target, seed)
        run = before
        if measured_s < workload.duration_s - experiment.record.interval_s / 2 or workload.steady_state == "snia":
            run = self._drive(journal, spec, schedule.phase, schedule, after=before)
        if workload.verify and workload.read_fraction < 1 and not self._interrupt.asked:
            self._drive(journal, read_back_spec(spec), lambda start_s: ("verify", None), after=run)

    def _drive(
        self,
        journal: Journal,
        spec: dict[str, Any],
        phase_of: Callable[[float], tuple[str, float | None]],
        schedule: Schedule | None = None,
        after: FileioRun | None = None,
    ) -> FileioRun:
        """Runs one workload to its end, and records it.

        Errors: EngineError with the place of the first failed request.
        """
        run = FileioRun(json.dumps(spec), after)
        offset_s, shown = journal.at_s, ""
        stop_by: float | None = None
        while True:
            if self._interrupt.asked and (stop_by is None or stop_by > time.monotonic() + INTERRUPT_PATIENCE_S):
                run.stop()
                stop_by = time.monotonic() + INTERRUPT_PATIENCE_S
            if stop_by is not None and time.monotonic() > stop_by:
                stuck = "requests were still outstanding when the run ended: the device does not answer"
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

    def _finish(self, journal: Journal, status: CellStatus, failure: str | None, started_at: str) -> CellSummary:
        cell, experiment = self._cell, self._experiment
        journal.seal()
        cell.sealed = True
        phases, tally = journal.phases, journal.tally
        if experiment.workload.steady_state == "snia" and status == "complete":
            phases = _split_approach(phases, UntilSteady(experiment).window_s)
            tally = _tally_of(cell, phases)
        analysis = analyse(
            lambda layer, metric: _measured_only(cell.series(layer, metric), phases),
            cell.metrics(),
            phases,
            experiment.workload.unit,
            experiment.record.interval_s,
            cores=self._result.machine.get("cores"),
        )
        latencies = tally.latencies()
        warnings = [*self._warnings, *analysis.warnings]
        if experiment.storage.fault is not None:
            warnings.insert(0, f"a fault was injected on purpose: {experiment.storage.fault.kind}")
        figures = {name: getattr(analysis, name) for name in _FROM_ANALYSIS}
        summary = CellSummary(
            cell=cell.index,
            repeat=cell.plan.repeat,
            set=cell.set,
            seed=cell.plan.seed,
            status=status,
            error=failure,
            layers={**experiment.layers, "device": device_text(self._target.paths[0])},
            unit=experiment.workload.unit,
            interval_s=experiment.record.interval_s,
            **figures,
            latency_us=latencies.get("all") or latencies.get("fsync"),
            latency_by_kind_us=latencies,
            client_cpu_us_per_op=tally.cpu_us_per_op,
            operations=tally.operations,
            bytes=tally.bytes,
            errors=tally.errors,
            warnings=warnings,
            phases=phases,
            events=journal.events,
            started_at=started_at,
            histograms=tally.histograms(),
        )
        figures_published = _compare_published(self._plan, summary)
        if figures_published:
            summary.published, *summary.published_others = figures_published
        self._result.finish_cell(cell, summary)
        return summary


#: Figures that the summary takes from the analysis as they are.
_FROM_ANALYSIS = (
    "mean",
    "mean_ci95",
    "stddev",
    "median",
    "flatness",
    "verdict",
    "verdict_text",
    "steady",
    "steady_since_s",
    "warmup_end_s",
    "dips",
    "dip_period_s",
    "stalls",
    "samples",
    "metrics",
)


def _split_approach(phases: list[Phase], window_s: float) -> list[Phase]:
    """SNIA's figures are those of the last five rounds: what came before them is the approach."""
    split = []
    for phase in phases:
        begin_s = phase.end_s - window_s
        if phase.name == MEASURE and begin_s > phase.start_s + 1e-3:
            split.append(Phase(name=APPROACH, start_s=phase.start_s, end_s=begin_s))
            split.append(Phase(name=MEASURE, start_s=begin_s, end_s=phase.end_s))
        else:
            split.append(phase)
    return split


def _is_owed(interval: Interval) -> bool:
    """After the end, an interval is worth recording if a device still owes answers, or has just made data durable."""
    return interval["metrics"]["in_flight"] > 0 or interval["totals"]["fsync"][0] > 0


def _tally_of(cell: Cell, phases: list[Phase]) -> Tally:
    """The totals of phases that are not those of the journal's own marks."""
    tally = Tally()
    for line in read_journal(cell.journal):
        if "metrics" in line and _is_measured(line, phases):
            tally.add(line)
    return tally


def _is_measured(line: dict[str, Any], phases: list[Phase]) -> bool:
    middle_s = (line["start_s"] + line["time_s"]) / 2
    return any(phase.name == MEASURE and phase.start_s <= middle_s < phase.end_s for phase in phases)


def _measured_only(series: Series, phases: list[Phase]) -> Series:
    """Without the warm-up that follows a seam; nothing when the run ended before it measured."""
    spans = [series.between(phase.start_s, phase.end_s) for phase in phases if phase.name == MEASURE]
    if not spans:
        return EMPTY
    if len(spans) == 1:
        return series
    return Series(np.concatenate([s.time_s for s in spans]), np.concatenate([s.value for s in spans]))


def _compare_published(plan: PlannedCell, summary: CellSummary) -> list[Published]:
    """The figures that others published for this cell, beside ours."""
    found = []
    for figure in published_for(plan.experiment, plan.set):
        ours = _lookup(summary, figure.metric)
        error = ours / figure.value - 1 if ours is not None and figure.value else None
        found.append(
            Published(
                value=figure.value,
                unit=figure.unit,
                metric=figure.metric,
                ours=ours,
                error=error,
                source=figure.source,
            )
        )
    return found


def _lookup(summary: CellSummary, metric: str) -> float | None:
    """A figure of the summary by its dotted name: `mean`, `latency_us.p95`, `metrics.storage.queue_depth.mean`."""
    if metric.startswith("metrics."):
        name, _, part = metric.removeprefix("metrics.").rpartition(".")
        series = summary.metrics.get(name)
        value = getattr(series, part, None) if series is not None else None
    else:
        value = summary
        for part in metric.split("."):
            value = getattr(value, part, None)
    return float(value) if isinstance(value, int | float) else None


def device_text(path: Path) -> str:
    """The storage in a few words: `/dev/nvme0n1 (MODEL), ext4`."""
    found = describe_storage(path)
    device = found.get("device", found.get("mount_source", "?"))
    model = f" ({found['model']})" if found.get("model") else ""
    return f"{device}{model}" + (f", {found['file_system']}" if found.get("file_system") else "")


def _with_hint(text: str) -> str:
    """Adds what to do to an engine's failure, where that is known."""
    hints = {
        "os error 24": "fewer workload.files, or more with ulimit -n",
        "os error 28": "free space, or a smaller storage.size",
        "O_DIRECT: Invalid argument": "this file system has no O_DIRECT: workload.direct = false",
        "(os error 5)": "the device failed: see dmesg",
    }
    hint = next((f" (hint: {hint})" for sign, hint in hints.items() if sign in text), "")
    return text + hint
