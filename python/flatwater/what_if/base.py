"""What a measured run recorded, as far as a model can be made from it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flatwater.errors import UserError
from flatwater.experiment import Experiment, ModelledStorage, Tpcc
from flatwater.experiment.cache.flash import DATA
from flatwater.experiment.database.generation import generation_of, is_generation, release_of
from flatwater.experiment.database.innodb_settings import defaults, has
from flatwater.experiment.database.measured import IndexSize
from flatwater.experiment.database.placement import OwnFiles, not_modelled, own_files
from flatwater.experiment.database.settings import Setting
from flatwater.fit.workload import OTHERS_SHARE, count_run, other_cores
from flatwater.fit.workload.counters import CountedCell
from flatwater.fit.workload.derive import indexes_of
from flatwater.results import Cell, CellSummary, Result
from flatwater.results.phases import measured_s
from flatwater.results.schema import FieldValues
from flatwater.server.flavours import Version
from flatwater.what_if.noise import run_noise
from flatwater.what_if.processors import EmulatorCost, emulator_cost

#: When a smaller share of the server's page reads reached the device, the kernel's page cache answered the others.
FROM_DEVICE = 0.8
#: The run has at least this many cores, however busy other programs are.
LEAST_CORES = 0.01
#: What a run shows of a storage that does all that it can: that it is so, and not what it can.
AT_ITS_LIMIT = "the storage was at its limit, and the twin's storage has none"
#: Bounds of a storage at its limit.
_LIMITS = ("device throughput", "garbage collection")


@dataclass(frozen=True)
class Storage:
    """Mean latencies of the device under the server, and its highest throughput during the run."""

    read_us: float
    write_us: float
    flush_us: float
    #: Bytes read and written in its busiest second.
    peak_bytes_per_s: float


@dataclass(frozen=True)
class Base:
    """The measured run: one cell, or all repeats of it."""

    result: Result
    experiment: Experiment
    set: FieldValues
    #: Numbers of the cells whose mean this is.
    cells: list[int]
    server: str
    #: Its flavour and its version as numbers, for what only some servers have.
    flavour: str
    release: Version
    generation: str
    #: The settings that the server ran with, of those that the model has.
    settings: dict[str, Setting]
    cores: int
    memory_bytes: int | None
    indexes: dict[str, IndexSize]
    #: Length of the time before the measured phase, and of the measured phase, of each run.
    warmup_s: float
    measure_s: float
    #: In the experiment's unit. `unit_scale` of it is one transaction a second (of tpcc: one New-Order a second).
    throughput: float
    unit: str
    unit_scale: float
    #: Standard deviation of one run's mean, as a share of the mean.
    noise: float
    #: For each transaction.
    pages_read: float
    pages_written: float
    redo_bytes: float
    page_requests: float
    statements: float
    server_cpu_us: float
    client_cpu_us: float
    #: Cores that other programs, and other guests of the machine's host, used on average.
    others_cores: float
    #: What the emulation of the storage used.
    emulator: EmulatorCost
    storage: Storage
    #: The same of the storages of files that parts of the server were placed on, by their names.
    placed: dict[str, Storage]
    #: The bound by which a storage of unknown limits stood at its limit; empty if it did not, or its model is known.
    limited: str
    notes: list[str]

    @property
    def runs(self) -> int:
        """The number of runs whose mean the figures are."""
        return len(self.cells)

    @property
    def series(self) -> str:
        """Its flavour with its version, for what was measured of such servers: `mariadb-11.8`."""
        return f"{self.flavour}-{self.release[0]}.{self.release[1]}"

    @property
    def own_files(self) -> OwnFiles:
        """What the server has in files of its own."""
        undo_tablespaces = self.settings.get("innodb_undo_tablespaces")
        return own_files(self.generation, None if undo_tablespaces is None else float(undo_tablespaces))

    @property
    def stretch(self) -> float:
        """The factor by which work takes longer because other programs used the cores, too."""
        work_us = self.server_cpu_us + self.client_cpu_us + self.emulator.transaction_us
        used = work_us / 1e6 * self.throughput / self.unit_scale
        return self.cores / min(self.cores, max(self.cores - self.others_cores, used, LEAST_CORES))

    @property
    def client_statement_us(self) -> float:
        """CPU time of the client for each statement, if it ran on the server's machine; else 0."""
        return self.client_cpu_us / self.statements if self.statements else 0.0

    @property
    def hit_ratio(self) -> float:
        """Share of the page requests that needed no read."""
        return 1.0 - self.pages_read / self.page_requests if self.page_requests else 0.0


def read_base(run: str, cell: int | None = None) -> Base:
    """The measured run of a results folder. `cell` chooses one of several by its number; its repeats belong to it.

    Errors: UserError, one line, if it is no result, was modelled, has no server or one that crashed, or is too short.
    """
    counted = count_run(run)
    where = str(counted.result.path)
    _require_known_cache(counted.cells, where)
    chosen = _cells_of_one_setting(counted.cells, cell, where)
    by_index = {recorded.index: recorded for recorded in counted.result.cells}
    cells = [by_index[counts.index] for counts in chosen]
    summaries = [_summary_without_crash(recorded, where) for recorded in cells]
    first = chosen[0]
    facts = summaries[0].servers[0] if summaries[0].servers else None
    flavour, version = (facts.flavour, facts.version) if facts else ("mariadb", "10.11")
    generation, notes = _generation(flavour, version)
    tpcc = isinstance(first.experiment.workload, Tpcc)
    windows = [window for counts in chosen for window in counts.windows]
    total = {name: sum(getattr(w, name) for w in windows) for name in windows[0].__dataclass_fields__}
    transactions = total["transactions"]
    means = [summary.mean for summary in summaries if summary.mean]
    if len(means) < len(summaries):
        raise UserError("its throughput is zero: there is nothing to compare with", where=where)
    throughput = sum(means) / len(means)
    machine = counted.result.machine
    cpu_cores, per_s = total["cpu_us"] / total["seconds"] / 1e6, transactions / total["seconds"]
    base = Base(
        result=counted.result,
        experiment=first.experiment,
        set=first.set,
        cells=[counts.index for counts in chosen],
        server=f"{flavour} {version}",
        flavour=flavour,
        release=_release(version),
        generation=generation,
        settings=_settings(counted.result.path / "servers" / f"{first.index:04}", first.experiment, generation),
        cores=int(machine.get("cores") or 1),
        memory_bytes=machine.get("memory_bytes"),
        indexes=indexes_of([first]),
        warmup_s=sum(recorded.measured_span()[0] for recorded in cells) / len(cells),
        measure_s=sum(measured_s(recorded.phases) for recorded in cells) / len(cells),
        throughput=throughput,
        unit=summaries[0].unit,
        unit_scale=throughput / per_s,
        noise=run_noise(cells),
        pages_read=total["pages_read"] / transactions,
        pages_written=total["pages_written"] / transactions,
        redo_bytes=total["redo_bytes"] / transactions,
        page_requests=total["page_requests"] / transactions,
        statements=total["statements"] / transactions,
        server_cpu_us=total["cpu_us"] / transactions,
        client_cpu_us=_client_cpu(summaries, per_s, first.experiment, tpcc, cells),
        others_cores=other_cores(cells, cpu_cores, int(machine.get("cores") or 1)),
        emulator=emulator_cost(cells, cpu_cores, per_s) if _is_emulated(first.experiment) else EmulatorCost(),
        storage=_storage(cells, total["pages_read"] / total["seconds"], notes, where),
        placed=_placed(cells, first.experiment, notes, where),
        limited=_limited(summaries, first.experiment),
        notes=notes,
    )
    _note_others(base, notes)
    _note_lacks(base, notes)
    return base


def _note_lacks(base: Base, notes: list[str]) -> None:
    """What the twin cannot say, or does not have."""
    server = base.experiment.server
    for item, (told, _) in not_modelled(base.generation, server.placement, base.own_files).items():
        notes.append(f"the twin lacks database.placement.{item}: {told}")
    if base.limited:
        notes.append(f"{AT_ITS_LIMIT} ({base.limited}): only changes to another storage are predicted")
    unknown = [name for name in server.settings if not has(base.generation, name)]
    if unknown:
        notes.append(f"settings that are not modelled, and that the twin lacks: {', '.join(unknown)}")


def _require_known_cache(cells: Sequence[CountedCell], where: str) -> None:
    for counts in cells:
        if (cache := counts.experiment.any_cache) is not None and cache.before != DATA:
            what = f"a cache was in front of the storage {cache.before}: only what the device below it did was recorded"
            raise UserError(what, where=where, hint="what-if knows caches in front of storage.path; use such a run")


def _cells_of_one_setting(cells: Sequence[CountedCell], cell: int | None, where: str) -> list[CountedCell]:
    """The cell that the user chose and its repeats, or all cells if they are repeats of each other."""
    groups: dict[str, list[CountedCell]] = {}
    for counts in cells:
        groups.setdefault(json.dumps(counts.set, sort_keys=True, default=str), []).append(counts)
    if cell is not None:
        for group in groups.values():
            if cell in [counts.index for counts in group]:
                return group
        complete = ", ".join(str(counts.index) for counts in cells)
        raise UserError(f"there is no complete real cell {cell}", where="--cell", hint=f"complete: {complete}")
    if len(groups) > 1:
        first = cells[0]
        values = ", ".join(f"{name.split('.')[-1]} {value}" for name, value in first.set.items())
        hint = f"choose one: --cell {first.index} is {values}"
        raise UserError(f"has {len(groups)} different cells", where=where, hint=hint)
    return list(cells)


def _summary_without_crash(cell: Cell, where: str) -> CellSummary:
    assert cell.summary is not None
    if cell.summary.recoveries_s or any(event.kind == "fault" for event in cell.summary.events):
        hint = "use a run without a crash"
        raise UserError(f"its server crashed in cell {cell.index}, which changes every figure", where=where, hint=hint)
    return cell.summary


def _generation(flavour: str, version: str) -> tuple[str, list[str]]:
    """The generation that models a server, and a note if it is another version's."""
    generation = generation_of(flavour, version)
    nearest = f"{flavour} {version} is modelled as {generation}, the nearest generation"
    return generation, [] if is_generation(flavour, version, generation) else [nearest]


def _release(version: str) -> Version:
    major, minor, patch, *_ = (*release_of(version), 0, 0, 0)
    return major, minor, patch


def _settings(folder: Path, experiment: Experiment, generation: str) -> dict[str, Setting]:
    """The settings that the server ran with; those of the experiment if the server's variables were not recorded."""
    try:
        found = json.loads((folder / "variables.json").read_text())
    except (OSError, ValueError):
        found = {}
    found = {**experiment.server.settings, **found} if isinstance(found, dict) else dict(experiment.server.settings)
    # A variable without a value is one at its default: MySQL before 8.0 says so of innodb_flush_method.
    known = [name for name in defaults(generation) if found.get(name, "") != ""]
    return {name: _value(found[name]) for name in known}


def _value(written: Setting) -> Setting:
    """The value of a variable that the server printed: a number if it is one."""
    if not isinstance(written, str):
        return written
    for kind in (int, float):
        try:
            return kind(written)
        except ValueError:
            continue
    return written


def _client_cpu(
    summaries: Sequence[CellSummary], per_s: float, experiment: Experiment, tpcc: bool, cells: Sequence[Cell]
) -> float:
    """CPU time of the client for each transaction, if it ran on the server's machine; else 0.

    The CPU time of the server's process was recorded (`count_run` takes no other run), so that process was on the
    machine of flatwater, whatever its address is. The client was there, too, unless other hosts made the load.
    """
    per_operation_us = [summary.client_cpu_us_per_op for summary in summaries if summary.client_cpu_us_per_op]
    if not per_operation_us or experiment.load is not None:
        return 0.0
    operations = [_mean(cell, "workload", "ops_per_s") for cell in cells] if tpcc else []
    known = [per_second for per_second in operations if per_second is not None]
    factor = sum(known) / len(known) / per_s if known and per_s else 1.0
    return sum(per_operation_us) / len(per_operation_us) * factor


def _is_emulated(experiment: Experiment) -> bool:
    return isinstance(experiment.storage, ModelledStorage)


def _limited(summaries: Sequence[CellSummary], experiment: Experiment) -> str:
    if _is_emulated(experiment) and experiment.flash_cache is None:
        return ""
    bounds = [one.bound for one in summaries if one.bound is not None]
    found = [name for bound in bounds for name in (bound.name, *(other.name for other in bound.others))]
    return next((name for name in _LIMITS if name in found), "")


def _mean(cell: Cell, layer: str, metric: str, weight: str | None = None) -> float | None:
    """Mean of a series over the measured phase, weighted by another series of its layer; None if it is empty."""
    series = cell.measured(layer, metric)
    if not len(series):
        return None
    if weight is None:
        return float(series.value.mean())
    other = cell.measured(layer, weight)
    weights = np.interp(series.time_s, other.time_s, other.value) if len(other) else np.ones(len(series))
    return float((series.value * weights).sum() / weights.sum()) if weights.sum() > 0 else float(series.value.mean())


def _placed(cells: Sequence[Cell], experiment: Experiment, notes: list[str], where: str) -> dict[str, Storage]:
    """The storages of files that parts are placed on. What an emulated one does, its device's file says."""
    return {
        name: _storage(cells, 0.0, notes, where, name)
        for name, other in experiment.server.others.items()
        if not isinstance(other.storage, ModelledStorage)
    }


def _storage(cells: Sequence[Cell], pages_per_s: float, notes: list[str], where: str, name: str = "") -> Storage:
    """How the storage of the data answered, or another one with this name."""
    prefix, of = (f"{name}_", f" of {name}") if name else ("", "")

    def mean(metric: str, weight: str | None = None) -> float | None:
        weighted = prefix + weight if weight is not None else None
        means = [_mean(cell, "storage", prefix + metric, weighted) for cell in cells]
        known = [value for value in means if value is not None]
        return sum(known) / len(known) if known else None

    read_us, write_us = mean("read_await_us", "read_ops_per_s"), mean("write_await_us", "write_ops_per_s")
    flush_us = mean("flush_await_us", "flush_ops_per_s")
    if read_us is None and write_us is None:
        path = f"database.storages.{name}.path" if name else "storage.path"
        hint = f"put {path} on a disk of this machine: memory and networks have no device with counters"
        what = f"the latencies of the storage {name} were" if name else "the storage's latencies were"
        raise UserError(f"{what} not recorded", where=where, hint=hint)
    reads = mean("read_ops_per_s") or 0.0
    share = min(1.0, reads / pages_per_s) if pages_per_s > 0 else 1.0
    if share < FROM_DEVICE:
        what = f"{100 * (1 - share):.0f} % of the page reads came from the kernel's page cache"
        notes.append(f"{what}: the storage of the twin has the same mean latency over all reads")
    if read_us is None and not name:
        notes.append("the device had no reads: a read is assumed to take as long as a write")
    if flush_us is None:
        notes.append(f"flushes of the device{of} were not timed: a flush is assumed to take as long as a write")
    write = write_us if write_us is not None else read_us or 0.0
    peak = 0.0
    for cell in cells:
        both = [cell.measured("storage", f"{prefix}{kind}_bytes_per_s") for kind in ("read", "write")]
        if all(len(series) for series in both):
            length = min(len(series) for series in both)
            peak = max(peak, float((both[0].value[:length] + both[1].value[:length]).max()))
    return Storage(
        read_us=max((read_us if read_us is not None else write) * share, 1.0),
        write_us=max(write, 1.0),
        flush_us=flush_us if flush_us is not None else write,
        peak_bytes_per_s=peak,
    )


def _note_others(base: Base, notes: list[str]) -> None:
    if base.others_cores > OTHERS_SHARE * base.cores:
        what = f"other programs used {base.others_cores:.1f} of the machine's {base.cores} cores"
        notes.append(f"{what}: the prediction holds for a machine that is equally busy")
