"""Reading the evidence: one pass over what a cell recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from flatwater.analysis.bound.device import Device, OwnDevice
from flatwater.analysis.bound.evidence import (
    Cache,
    Database,
    Evidence,
    Layers,
    Load,
    LoadHostUse,
    Machine,
    Reality,
    Variables,
    metrics_of,
)
from flatwater.analysis.bound.line import Line, Values
from flatwater.analysis.bound.rationed import busier, requests_busy
from flatwater.analysis.bound.redo import RedoLimits, redo_limits
from flatwater.analysis.stalls import aligned
from flatwater.errors import UserError
from flatwater.experiment import (
    Experiment,
    Fileio,
    InvalidExperimentError,
    ModelledStorage,
    Server,
    Tpcc,
    Transactions,
    load,
    make_cell,
)
from flatwater.experiment.database.generation import generation_of, release_of
from flatwater.experiment.database.innodb import InnodbModel
from flatwater.experiment.database.placed import PlacedLayer
from flatwater.experiment.database.placement import placed
from flatwater.experiment.device.load import load_device
from flatwater.results import Cell, CellSummary, Result, Series
from flatwater.results.facts import MachineFacts
from flatwater.results.phases import measured_samples
from flatwater.results.stored import read_json

_MIB = 1 << 20
#: How a recorded series is had, by layer and metric; empty if it was not recorded.
Read = Callable[[str, str], Series]


def read_evidence(cell: Cell, experiment: Experiment | None = None) -> Evidence:
    """The evidence of a cell of a result. `experiment` is the whole result's, for who reads many of its cells.

    Errors: UserError for a cell that has no summary, or a damaged result.
    """
    result = cell.result
    if cell.summary is None:
        raise UserError(f"cell {cell.index} is not over: nothing was judged yet", where=str(result.path))
    whole = experiment if experiment is not None else experiment_of(result)
    one = make_cell(whole, cell.set) if whole is not None else None
    return gather(cell.summary, one, result.machine, cell.series, cell.metrics(), server_folder(result, cell.index))


def experiment_of(result: Result) -> Experiment | None:
    """The experiment of a result; None of one that another tool measured, and that is no experiment of flatwater's."""
    try:
        return load(result.path / "experiment.toml")
    except InvalidExperimentError:
        return None


def server_folder(result: Result, index: int) -> Path:
    """Where a cell keeps what its servers said."""
    return result.path / "servers" / f"{index:04}"


def gather(
    summary: CellSummary,
    experiment: Experiment | None,
    machine: MachineFacts,
    read: Read,
    names: Sequence[tuple[str, str]],
    servers: Path,
) -> Evidence:
    """The evidence of a cell from its parts. `servers` is the folder of what its servers said; it may be absent."""
    reader = _Reader(read, names, summary)
    layers = _layers(summary)
    database = _database(summary, experiment, layers, servers, reader)
    return Evidence(
        cell=summary.cell,
        experiment=experiment,
        layers=layers,
        time_s=reader.time_s,
        interval_s=summary.interval_s,
        load=_load(summary, experiment, reader, _hosts(summary, machine, reader)),
        machine=_machine(experiment, layers, machine, reader),
        device=_device(experiment, layers, reader),
        database=database,
        cache=_cache(experiment, reader),
        verdict=summary.verdict,
        own_devices=tuple(_own_devices(experiment, database, reader)),
        dips=tuple(summary.dips),
        dip_period_s=summary.dip_period_s,
        stalls=tuple(summary.stalls),
        events=tuple(summary.events),
        health=summary.health,
        gaps=tuple(summary.gaps),
    )


class _Reader:
    """The measured lines of one cell, all on the intervals of its throughput."""

    def __init__(self, read: Read, names: Sequence[tuple[str, str]], summary: CellSummary) -> None:
        self._read = read
        self._phases = summary.phases
        self.names = frozenset(names)
        self._grid = measured_samples(read("workload", "throughput"), summary.phases)
        self.time_s: Values = self._grid.time_s
        self.step_s = summary.interval_s

    def line(self, layer: str, metric: str) -> Line | None:
        """A recorded quantity; None if no measured interval has it."""
        if (layer, metric) not in self.names or not len(self._grid):
            return None
        values = aligned(measured_samples(self._read(layer, metric), self._phases), self._grid)
        values[~np.isfinite(values)] = np.nan
        return Line(values) if np.isfinite(values).any() else None

    def lines(self, layer: str, group: type) -> dict[str, Line]:
        """The recorded lines of a group, by the names of its fields."""
        found = {}
        for name, metrics in metrics_of(group).items():
            lines = (self.line(layer, metric) for metric in metrics)
            first = next((line for line in lines if line is not None), None)
            if first is not None:
                found[name] = first
        return found

    def combined(self, layer: str, metrics: Sequence[str], how: Callable[[Values], Values]) -> Line | None:
        """One line of several: `how` takes one row for each."""
        rows = [line.value for metric in metrics if (line := self.line(layer, metric)) is not None]
        return Line(how(np.array(rows))) if rows else None


def _layers(summary: CellSummary) -> Layers:
    def reality(layer: str) -> Reality:
        word = summary.layers.get(layer, "none")
        return "real" if word == "real" else "modelled" if word == "modelled" else "none"

    return Layers(
        reality("workload"), reality("database"), reality("cache"), reality("storage"), summary.layers.get("device", "")
    )


def _load(
    summary: CellSummary, experiment: Experiment | None, reader: _Reader, hosts: tuple[LoadHostUse, ...] = ()
) -> Load:
    workload = experiment.workload if experiment is not None else None
    concurrency = None
    if isinstance(workload, Transactions):
        concurrency = workload.connections
    elif isinstance(workload, Fileio):
        concurrency = workload.threads * workload.queue_depth
    return Load(
        kind=workload.kind if workload is not None else "imported",
        unit=summary.unit,
        concurrency=concurrency,
        rate_per_s=(workload.rate_per_s or None) if workload is not None else None,
        pause_s=workload.pause_s if isinstance(workload, Transactions) else 0.0,
        read_fraction=workload.read_fraction if isinstance(workload, Fileio) else None,
        latency_us=dict(summary.latency_by_kind_us),
        client_cpu_us_per_op=summary.client_cpu_us_per_op,
        hosts=hosts,
        variant=workload.variant if isinstance(workload, Tpcc) else "",
        **reader.lines("workload", Load),
    )


def _hosts(summary: CellSummary, machine: MachineFacts, reader: _Reader) -> tuple[LoadHostUse, ...]:
    """The hosts that made the load. Of more hosts than machines are known, the last have no number of cores."""
    machines = machine.get("load_hosts", [])
    return tuple(
        LoadHostUse(
            host.host,
            machines[number].get("cores") if number < len(machines) else None,
            reader.line("workload", f"host{number}_client_cpu_pct"),
            reader.line("workload", f"host{number}_machine_idle_pct"),
        )
        for number, host in enumerate(summary.load_hosts)
    )


def _machine(experiment: Experiment | None, layers: Layers, machine: MachineFacts, reader: _Reader) -> Machine:
    if layers.virtual:
        modelled = experiment.database if experiment is not None else None
        return Machine(modelled.hardware.at_once if isinstance(modelled, InnodbModel) else None, None, {})
    cores, memory = machine.get("cores"), machine.get("memory_bytes")
    return Machine(
        cores=cores if isinstance(cores, int) else None,
        memory_bytes=memory if isinstance(memory, int) else None,
        facts=machine,
        **reader.lines("machine", Machine),
    )


def _device(experiment: Experiment | None, layers: Layers, reader: _Reader) -> Device | None:
    if layers.storage == "none" or not any(layer == "storage" for layer, _ in reader.names):
        return None
    kind = experiment.storage.kind if experiment is not None else "file"
    lines = reader.lines("storage", Device)
    busy = _busy(kind, "", reader, "storage")
    if kind == "file":
        return Device(kind, busy_pct=busy, **lines)
    # A card calls the share of its pages that are valid `utilisation`.
    valid = reader.line("storage", "utilisation_pct")
    if isinstance(experiment, Experiment) and isinstance(experiment.storage, ModelledStorage):
        busy = busier(busy, requests_busy(experiment.storage, lines.get("credits"), _requests(reader), reader.step_s))
    return Device(kind, busy_pct=busy, valid_pct=valid, **lines)


def _requests(reader: _Reader) -> Line | None:
    """Requests a second that the storage gets at least: of a server its pages and writes of the log."""
    names = ("pages_read_per_s", "pages_flushed_per_s", "log_writes_per_s")
    asked = reader.combined("database", names, lambda rows: np.asarray(np.nansum(rows, axis=0)))
    if any(layer in ("database", "cache") for layer, _ in reader.names):
        return asked if not any(layer == "cache" for layer, _ in reader.names) else None
    return reader.line("workload", "ops_per_s")


def _own_devices(experiment: Experiment | None, database: Database | None, reader: _Reader) -> Iterator[OwnDevice]:
    asked = experiment.database if experiment is not None else None
    if isinstance(asked, InnodbModel):
        for name, holds in asked.other_devices.items():
            try:
                kind = load_device(name).KIND
            except UserError:
                continue  # its file is not on this machine
            yield OwnDevice(name, holds, _own_device(kind, f"{holds.name}_", reader))
    if isinstance(asked, PlacedLayer) and database is not None:
        # Storages with temporary files only are not among them: no bound looks at these.
        for name, holds in placed(asked, database.own_files).items():
            other = asked.others[name]
            yield OwnDevice(name, holds, _own_device(other.storage.kind, f"{name}_", reader), other)


def _own_device(kind: str, prefix: str, reader: _Reader, layer: str = "storage") -> Device:
    names = ("queue_depth", "gc_share_pct", "write_amplification")
    lines = {name: reader.line(layer, f"{prefix}{name}") for name in names}
    return Device(kind, busy_pct=_busy(kind, prefix, reader, layer), **lines)


def _busy(kind: str, prefix: str, reader: _Reader, layer: str) -> Line | None:
    """How busy a real device, or the busiest part of a model, is."""
    if kind == "file":
        return reader.line(layer, f"{prefix}utilisation_pct")
    if kind == "raid":
        # Members share the load: the array is full when the mean of them is.
        members = sorted(
            metric for one, metric in reader.names if one == layer and _is_member_busy(metric.removeprefix(prefix))
        )
        return reader.combined(layer, members, _mean_of_known)
    parts = [f"{prefix}{name}" for name in ("busy_pct", "dies_busy_pct", "link_busy_pct")]
    return reader.combined(layer, parts, lambda rows: np.asarray(np.fmax.reduce(rows)))


def _mean_of_known(rows: Values) -> Values:
    known = np.isfinite(rows)
    count = known.sum(axis=0)
    total: Values = np.where(known, rows, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _is_member_busy(metric: str) -> bool:
    return metric.startswith("member") and metric.endswith("busy_pct")


def _cache(experiment: Experiment | None, reader: _Reader) -> Cache | None:
    if not any(layer == "cache" for layer, _ in reader.names):
        return None
    flash = experiment.flash_cache if experiment is not None else None
    mode = str(getattr(flash, "mode", None) or "")
    fast = _own_device("ssd", "fast_", reader, "cache")
    return Cache(mode, fast=fast, **reader.lines("cache", Cache))


def _database(
    summary: CellSummary, experiment: Experiment | None, layers: Layers, servers: Path, reader: _Reader
) -> Database | None:
    if layers.database == "none":
        return None
    asked = experiment.database if experiment is not None else None
    if isinstance(asked, InnodbModel):
        flavour, version, generation = asked.generation.partition("-")[0], "", str(asked.generation)
        release = release_of(asked.generation.partition("-")[2])
        settings = {**asked.server_settings, **vars(asked.resolved)}
        text: Mapping[str, str] = {name: _as_text(value) for name, value in settings.items() if value is not None}
        count, each = asked.servers, _of_shares(text, asked.servers)
    else:
        facts = summary.servers[0] if summary.servers else None
        if facts is None:
            return None
        flavour, version = facts.flavour, facts.version
        generation, release = str(generation_of(flavour, version)), release_of(version)
        found, count = _variables(servers), max(len(summary.servers), 1)
        text = found[0] if found else _asked_for(asked)
        each = tuple(Variables(one) for one in found) if count > 1 and len(found) == count else ()
    variables, lines = Variables(text), reader.lines("database", Database)
    return Database(
        flavour=flavour,
        version=version,
        release=release,
        generation=generation,
        servers=count,
        variables=variables,
        each=each,
        redo=_redo(generation, lines.get("checkpoint_age_max_bytes"), variables),
        counters=dict(summary.counters),
        **lines,
    )


def _redo(generation: str, largest: Line | None, variables: Variables) -> RedoLimits | None:
    if largest is None or largest.median <= 0:
        return None
    return redo_limits(generation, largest.median, variables.number("innodb_checkpoint_age_target") or 0.0)


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return str(value)


def _variables(folder: Path) -> list[Mapping[str, str]]:
    """The variables that each server had, in the servers' order; what was not kept, or is damaged, is left out."""
    several = sorted(folder.glob("*/variables.json"), key=lambda path: (len(path.parent.name), path.parent.name))
    tables: list[Mapping[str, str]] = []
    for path in (folder / "variables.json", *several):
        try:
            found = read_json(path)
        except UserError:
            continue
        if isinstance(found, dict):
            tables.append({str(name): str(value) for name, value in found.items()})
    return tables


def _asked_for(asked: object) -> Mapping[str, str]:
    """What the experiment asked for."""
    return {name: _as_text(value) for name, value in asked.settings.items()} if isinstance(asked, Server) else {}


def _of_shares(text: Mapping[str, str], servers: int) -> tuple[Variables, ...]:
    """The variables of each of several modelled servers: the memory of the pools is shared out among them."""
    name = "innodb_buffer_pool_size"
    if servers < 2 or name not in text:
        return ()
    own = {**text, name: str(int(float(text[name])) // servers // _MIB * _MIB)}
    return tuple(Variables(own) for _ in range(servers))
