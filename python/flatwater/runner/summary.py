"""The summary of a finished cell: its figures, the verdict, and published figures beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

from flatwater.analysis import analyse, find_transition
from flatwater.analysis.bound import diagnose, gather, server_folder, still_moving, with_interruptions
from flatwater.analysis.figures import lookup_figure
from flatwater.analysis.load_hosts import load_host_warnings
from flatwater.experiment import Experiment, Fileio, Observed, PlannedCell, PublishedFigure, published_for
from flatwater.health.modelled import modelled_health
from flatwater.printing import counted
from flatwater.probe.disk import storage_warning
from flatwater.results import Cell, CellSummary, Phase, Published, Result, Series
from flatwater.results.phases import APPROACH, MEASURE, measured_phases, measured_samples
from flatwater.results.schema import CellStatus, Event, FieldValues, JournalLine, ServerFacts, Transition, now_utc
from flatwater.results.series import EMPTY, read_journal
from flatwater.runner.journal import Journal
from flatwater.runner.schedule import UntilSteady
from flatwater.runner.stack.stack import Stack
from flatwater.runner.stack.workload.real.replicas import left_stopped
from flatwater.runner.tally import Tally


def summarise_cell(
    result: Result,
    cell: Cell,
    plan: PlannedCell,
    stack: Stack,
    journal: Journal,
    *,
    status: CellStatus,
    failure: str | None,
    started_at: str,
    warnings: Sequence[str],
) -> CellSummary:
    """Seals a cell's journal and analyses it."""
    experiment = plan.experiment
    journal.seal()
    cell.mark_sealed()
    phases, tally = journal.phases, journal.tally
    series, recorded = _reader(cell, journal)
    transition = _transition(experiment, series("workload", "throughput"), phases)
    if experiment.workload.steady_state == "snia" and status == "complete":
        phases = _split_approach(phases, UntilSteady(experiment).window_s)
        tally = _tally_of(cell, phases)
    analysis = analyse(
        series,
        recorded,
        phases,
        experiment.workload.unit,
        experiment.record.interval_s,
        cores=result.machine.get("cores"),
        served=_is_served(experiment),
    )
    latencies = tally.latencies()
    load_hosts = stack.workload.load_hosts()
    of_hosts = load_host_warnings(load_hosts, analysis.metrics, experiment.record.interval_s)
    of_run = [*_injected(stack), *_of_events(journal.events, phases), *_of_server(stack, failure), *warnings]
    figures = {name: getattr(analysis, name) for name in _FROM_ANALYSIS}
    summary = CellSummary(
        **_about(cell, experiment),
        status=status,
        error=failure,
        layers=_layers(experiment.layers, stack),
        **figures,
        transition=transition,
        latency_us=latencies.get("all") or latencies.get("fsync"),
        latency_by_kind_us=latencies,
        client_cpu_us_per_op=None if isinstance(experiment.workload, Observed) else tally.cpu_us_per_op,
        operations=tally.operations,
        bytes=tally.bytes,
        errors=tally.errors,
        counters=dict(tally.counters),
        response_limits=stack.workload.response_limits(tally),
        recoveries_s=stack.database.recoveries_s,
        servers=stack.database.facts,
        warnings=[*of_run, *stack.warnings(), *_of_place(stack), *analysis.warnings, *of_hosts],
        gaps=stack.gaps(),
        statements=stack.workload.statements(),
        load_hosts=load_hosts,
        phases=phases,
        events=journal.events,
        started_at=started_at,
        histograms=tally.histograms(),
        health=modelled_health(experiment, series, phases),
    )
    if measured_phases(phases):
        evidence = gather(summary, experiment, result.machine, series, recorded, server_folder(result, cell.index))
        summary.bound = with_interruptions(diagnose(evidence).stored(), evidence)
        summary.warnings += still_moving(evidence)
    if figures_published := _compare_published(plan, summary):
        summary.published, *summary.published_others = figures_published
    return summary


def _injected(stack: Stack) -> list[str]:
    return [f"a fault was injected on purpose: {fault}" for fault in stack.faults()]


def _of_server(stack: Stack, failure: str | None) -> list[str]:
    """What a server reported while it went on, unless the run failed by it."""
    trouble = stack.database.trouble
    return [f"while it ran, {trouble}"] if trouble and trouble not in (failure or "") else []


def _of_events(events: Sequence[Event], phases: Sequence[Phase]) -> list[str]:
    return [*_paused(events, phases), *left_stopped(events)]


def _paused(events: Sequence[Event], phases: Sequence[Phase]) -> list[str]:
    """The warning about times of the measured phase in which nothing was recorded."""
    found = [
        event
        for event in events
        if event.kind == "pause" and any(one.start_s < event.time_s <= one.end_s for one in measured_phases(phases))
    ]
    if not found:
        return []
    more = f" (and {counted(len(found) - 1, 'time')} more)" if len(found) > 1 else ""
    return [f"until {found[0].time_s:,.0f} s{more}, {found[0].text}"]


def keep_without_running(cell: Cell, experiment: Experiment, status: CellStatus, error: str) -> CellSummary:
    """Stores the summary of a cell that could not run. It has no phases: the measurement of an earlier run stays, so
    that the cell can be resumed.
    """
    summary = CellSummary(
        **_about(cell, experiment), status=status, error=error, layers=experiment.layers, started_at=now_utc()
    )
    cell.finish(summary)
    return summary


class _About(TypedDict):
    """The fields that every summary has."""

    cell: int
    repeat: int
    set: FieldValues
    seed: int
    unit: str
    interval_s: float


def _about(cell: Cell, experiment: Experiment) -> _About:
    """The identity and the unit of a cell, also of one that could not run."""
    return {
        "cell": cell.index,
        "repeat": cell.plan.repeat,
        "set": cell.set,
        "seed": cell.plan.seed,
        "unit": experiment.workload.unit,
        "interval_s": experiment.record.interval_s,
    }


def _reader(cell: Cell, journal: Journal) -> tuple[Callable[[str, str], Series], list[tuple[str, str]]]:
    """A function that reads a series by layer and metric, and the list of all: from memory or from files."""
    kept = journal.series()
    if kept is None:
        return cell.series, cell.metrics()
    names = [(layer, metric) for layer, _, metric in (name.partition(".") for name in sorted(kept))]
    return lambda layer, metric: kept.get(f"{layer}.{metric}", EMPTY), names


def _transition(experiment: Experiment, throughput: Series, phases: list[Phase]) -> Transition | None:
    """The three phases of a write run, including SNIA's rounds before the last five."""
    if (
        not measured_phases(phases)
        or not isinstance(experiment.workload, Fileio)
        or experiment.workload.read_fraction == 1
    ):
        return None
    if experiment.storage.kind not in ("file", "ssd"):
        return None  # an array slows down when its cache is full or a member is lost: this is no transition of flash
    return find_transition(measured_samples(throughput, phases))


def _is_served(experiment: Experiment) -> bool:
    """Whether the workload's storage is a file that flatwater serves: an emulated device, or a cache."""
    if experiment.in_virtual_time:
        return False
    return experiment.layers["storage"] == "modelled" or experiment.flash_cache is not None


def _layers(kinds: dict[str, str], stack: Stack) -> dict[str, str]:
    """The kind of each layer (real or modelled), with the device, and the servers if there are any."""
    texts = {**kinds, "device": stack.device}
    if stack.cache:
        texts["cache_device"] = stack.cache
    texts |= {f"storage {name}": text for name, text in stack.others.items()}
    if stack.database.facts:
        texts["server"] = _server_names(stack.database.facts)
    return texts


def _of_place(stack: Stack) -> list[str]:
    """The warning about a place that is not ordinary storage, if there is one."""
    texts = storage_warning(stack.place) if stack.place is not None else None
    return [texts] if texts is not None else []


def _server_names(servers: Sequence[ServerFacts]) -> str:
    """The servers in a few words: `MariaDB 10.11.6`, `4 x MariaDB 10.11.6`."""
    names = [f"{server.flavour} {server.version}" for server in servers]
    return ", ".join(
        name if names.count(name) == 1 else f"{names.count(name)} x {name}" for name in dict.fromkeys(names)
    )


#: Figures of the analysis that the summary takes unchanged.
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
    """Divides the measured phase for SNIA: only the last five rounds are measured, the time before is the approach."""
    split = []
    for phase in phases:
        begin_s = phase.end_s - window_s
        if phase.name == MEASURE and begin_s > phase.start_s + 1e-3:
            split.append(Phase(name=APPROACH, start_s=phase.start_s, end_s=begin_s))
            split.append(Phase(name=MEASURE, start_s=begin_s, end_s=phase.end_s))
        else:
            split.append(phase)
    return split


def _tally_of(cell: Cell, phases: list[Phase]) -> Tally:
    """The totals of phases that differ from those in the journal."""
    tally = Tally()
    for line in read_journal(cell.journal):
        if "metrics" in line and _is_measured(line, phases):
            tally.add(line)
    return tally


def _is_measured(line: JournalLine, phases: list[Phase]) -> bool:
    middle_s = (line["start_s"] + line["time_s"]) / 2
    return any(phase.start_s <= middle_s < phase.end_s for phase in measured_phases(phases))


def _compare_published(plan: PlannedCell, summary: CellSummary) -> list[Published]:
    """The published figures for this cell, beside ours."""
    compared = []
    for figure in published_for(plan.experiment, plan.set):
        # A ratio to another cell is computed when that cell is complete (relative.py).
        ours = lookup_figure(summary, figure.metric) if figure.relative_to is None else None
        compared.append(
            Published(
                value=figure.value,
                up_to=figure.up_to,
                at_least=figure.at_least,
                relative_to=figure.relative_to,
                unit=figure.unit,
                metric=figure.metric,
                ours=ours,
                error=figure.error(ours) if ours is not None else None,
                within=figure.tolerance,
                agrees=_agrees(figure, summary, ours),
                standing=figure.standing,
                by=figure.by,
                missed=figure.missed,
                source=figure.source,
            )
        )
    return compared


def _agrees(figure: PublishedFigure, summary: CellSummary, ours: float | None) -> bool | None:
    if ours is not None:
        return figure.agrees(ours)
    # A series was judged, and has no dips, or no regular dips. If dips were published, this is a disagreement.
    judged = figure.metric in _OF_DIPS and figure.relative_to is None and summary.verdict is not None
    return False if judged else None


#: Figures of the summary's dips.
_OF_DIPS = ("dip_period_s", "dip_depth", "dip_length_s")
