"""What a measured run recorded, as far as a model can be made of it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flatwater.errors import UserError
from flatwater.experiment import Experiment, Tpcc
from flatwater.experiment.database.generation import generation_of, release_of
from flatwater.experiment.database.innodb_settings import defaults, has
from flatwater.fit.workload import count_run
from flatwater.fit.workload.counters import CountedCell
from flatwater.results import Cell, CellSummary, Result
from flatwater.results.phases import measured_s
from flatwater.results.schema import FieldValues

#: 95 % of a normal distribution lie within so many standard deviations of its mean.
Z95 = 1.96
#: Page reads of which fewer reached the device came from the kernel's page cache.
FROM_DEVICE = 0.8
#: Nobody's share of the cores is less.
LEAST_CORES = 0.01
#: Others that took more of the machine's cores are told.
OTHERS_SHARE = 0.1


@dataclass(frozen=True)
class Storage:
    """What the device under the server answered, and the most that it was seen to move."""

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
    #: Numbers of the cells that were taken together.
    cells: list[int]
    server: str
    generation: str
    #: What the server really had, of what the model knows.
    settings: dict[str, Any]
    cores: int
    memory_bytes: int | None
    indexes: dict[str, dict[str, int]] | None
    #: Before the measured phase, and its length, of each run.
    warmup_s: float
    measure_s: float
    #: In the experiment's unit; `unit_scale` of them are one transaction a second (a New-Order of tpcc).
    throughput: float
    unit: str
    unit_scale: float
    #: Standard deviation of one run's mean, a share of it.
    noise: float
    #: For each transaction.
    pages_read: float
    pages_written: float
    redo_bytes: float
    page_requests: float
    statements: float
    server_cpu_us: float
    client_cpu_us: float
    #: Cores that other programs, and other guests of the machine's host, took on average.
    others_cores: float
    storage: Storage
    notes: list[str]

    @property
    def runs(self) -> int:
        """How many runs the figures are the mean of."""
        return len(self.cells)

    @property
    def stretch(self) -> float:
        """By how much everything takes longer on the cores because others used them too."""
        own = (self.server_cpu_us + self.client_cpu_us) / 1e6 * self.throughput / self.unit_scale
        return self.cores / min(self.cores, max(self.cores - self.others_cores, own, LEAST_CORES))

    @property
    def hit_ratio(self) -> float:
        """Share of the page requests that needed no read."""
        return 1.0 - self.pages_read / self.page_requests if self.page_requests else 0.0


def read_base(run: str, cell: int | None = None) -> Base:
    """The measured run of a results folder; `cell`: which of several, by its number (its repeats come along).

    Errors: UserError, one line, for what is no result, was modelled, has no server, is too short, or crashed.
    """
    counted = count_run(run)
    where = str(counted.result.path)
    chosen = _chosen(counted.cells, cell, where)
    by_index = {one.index: one for one in counted.result.cells}
    cells = [by_index[one.index] for one in chosen]
    summaries = [_whole(one, where) for one in cells]
    first = chosen[0]
    facts = summaries[0].servers[0] if summaries[0].servers else None
    flavour, version = (facts.flavour, facts.version) if facts else ("mariadb", "10.11")
    generation, notes = _generation(flavour, version)
    tpcc = isinstance(first.experiment.workload, Tpcc)
    windows = [window for one in chosen for window in one.windows]
    total = {name: sum(getattr(w, name) for w in windows) for name in windows[0].__dataclass_fields__}
    transactions = total["transactions"]
    means = [one.mean for one in summaries if one.mean]
    if len(means) < len(summaries):
        raise UserError("its throughput is zero: there is nothing to compare with", where=where)
    throughput = sum(means) / len(means)
    told = counted.result.machine
    base = Base(
        result=counted.result,
        experiment=first.experiment,
        set=first.set,
        cells=[one.index for one in chosen],
        server=f"{flavour} {version}",
        generation=generation,
        settings=_settings(counted.result.path / "servers" / f"{first.index:04}", first.experiment, generation),
        cores=int(told.get("cores") or 1),
        memory_bytes=told.get("memory_bytes"),
        indexes=first.indexes,
        warmup_s=sum(one.measured_span()[0] for one in cells) / len(cells),
        measure_s=sum(measured_s(one.phases) for one in cells) / len(cells),
        throughput=throughput,
        unit=summaries[0].unit,
        unit_scale=throughput / (transactions / total["seconds"]),
        noise=_noise(summaries, means),
        pages_read=total["pages_read"] / transactions,
        pages_written=total["pages_written"] / transactions,
        redo_bytes=total["redo_bytes"] / transactions,
        page_requests=total["page_requests"] / transactions,
        statements=total["statements"] / transactions,
        server_cpu_us=total["cpu_us"] / transactions,
        client_cpu_us=_client_cpu(summaries, transactions / total["seconds"], first.experiment, tpcc, cells),
        others_cores=_others(cells, total["cpu_us"] / total["seconds"] / 1e6, int(told.get("cores") or 1)),
        storage=_storage(cells, total["pages_read"] / total["seconds"], notes, where),
        notes=notes,
    )
    _note_others(base, notes)
    unknown = [name for name in first.experiment.server.settings if not has(generation, name)]
    if unknown:
        notes.append(f"not modelled, so that the twin is without: {', '.join(unknown)}")
    return base


def _chosen(cells: Sequence[CountedCell], cell: int | None, where: str) -> list[CountedCell]:
    groups: dict[str, list[CountedCell]] = {}
    for one in cells:
        groups.setdefault(json.dumps(one.set, sort_keys=True, default=str), []).append(one)
    if cell is not None:
        for group in groups.values():
            if cell in [one.index for one in group]:
                return group
        there = ", ".join(str(one.index) for one in cells)
        raise UserError(f"there is no complete real cell {cell}", where="--cell", hint=f"complete: {there}")
    if len(groups) > 1:
        first = cells[0]
        told = ", ".join(f"{name.split('.')[-1]} {value}" for name, value in first.set.items())
        hint = f"--cell {first.index} is {told}"
        raise UserError(f"has {len(groups)} different cells: which one is it about?", where=where, hint=hint)
    return list(cells)


def _whole(cell: Cell, where: str) -> CellSummary:
    assert cell.summary is not None
    if cell.summary.recoveries_s or any(event.kind == "fault" for event in cell.summary.events):
        hint = "a run in which it did not"
        raise UserError(f"its server crashed in cell {cell.index}: that is in every figure", where=where, hint=hint)
    return cell.summary


def _generation(flavour: str, version: str) -> tuple[str, list[str]]:
    generation = generation_of(flavour, version)
    has = (*release_of(version), 0, 0)[:2]
    own = f"{flavour}-{has[0]}.{has[1]}"
    told = [] if own == generation else [f"{flavour} {version} is modelled as {generation}, the nearest there is"]
    return generation, told


def _settings(folder: Path, experiment: Experiment, generation: str) -> dict[str, Any]:
    """The server's own variables; what the experiment asked for where they were not recorded."""
    try:
        found = json.loads((folder / "variables.json").read_text())
    except (OSError, ValueError):
        found = {}
    found = {**experiment.server.settings, **found} if isinstance(found, dict) else dict(experiment.server.settings)
    known = [name for name in defaults(generation) if name in found]
    return {name: _value(found[name]) for name in known}


def _value(written: Any) -> Any:
    """A variable as the server prints it."""
    if not isinstance(written, str):
        return written
    for kind in (int, float):
        try:
            return kind(written)
        except ValueError:
            continue
    return written


def _noise(summaries: Sequence[CellSummary], means: Sequence[float]) -> float:
    """Standard deviation of one run's mean: from its confidence interval, or from repeats where these differ more."""
    intervals = [(one.mean_ci95 or 0.0) / Z95 / (one.mean or 1.0) for one in summaries]
    within = math.sqrt(sum(one * one for one in intervals) / len(intervals))
    between = float(np.std(means, ddof=1)) / (sum(means) / len(means)) if len(means) > 1 else 0.0
    return max(within, between)


def _client_cpu(
    summaries: Sequence[CellSummary], per_s: float, experiment: Experiment, tpcc: bool, cells: Sequence[Cell]
) -> float:
    """CPU time of the client for each transaction, where it ran on the server's machine; else 0."""
    each = [one.client_cpu_us_per_op for one in summaries if one.client_cpu_us_per_op]
    if not each or experiment.server.address is not None:
        return 0.0
    operations = [_mean(one, "workload", "ops_per_s") for one in cells] if tpcc else []
    known = [one for one in operations if one is not None]
    factor = sum(known) / len(known) / per_s if known and per_s else 1.0
    return sum(each) / len(each) * factor


def _mean(cell: Cell, layer: str, metric: str, weight: str | None = None) -> float | None:
    """Mean of a series over the measured phase, weighted by another one of its layer; None if there is nothing."""
    series = cell.measured(layer, metric)
    if not len(series):
        return None
    if weight is None:
        return float(series.value.mean())
    other = cell.measured(layer, weight)
    weights = np.interp(series.time_s, other.time_s, other.value) if len(other) else np.ones(len(series))
    return float((series.value * weights).sum() / weights.sum()) if weights.sum() > 0 else float(series.value.mean())


def _storage(cells: Sequence[Cell], pages_per_s: float, notes: list[str], where: str) -> Storage:
    def mean(metric: str, weight: str | None = None) -> float | None:
        found = [_mean(one, "storage", metric, weight) for one in cells]
        known = [one for one in found if one is not None]
        return sum(known) / len(known) if known else None

    read_us, write_us = mean("read_await_us", "read_ops_per_s"), mean("write_await_us", "write_ops_per_s")
    flush_us = mean("flush_await_us", "flush_ops_per_s")
    if read_us is None and write_us is None:
        hint = "storage.path on a disk of this machine: memory and networks have no device that could be watched"
        raise UserError("the storage's latencies were not recorded", where=where, hint=hint)
    reads = mean("read_ops_per_s") or 0.0
    share = min(1.0, reads / pages_per_s) if pages_per_s > 0 else 1.0
    if share < FROM_DEVICE:
        told = f"{100 * (1 - share):.0f} % of the page reads came from the kernel's page cache"
        notes.append(f"{told}: the twin's storage answers them as quickly on average")
    if read_us is None:
        notes.append("nothing was read from the device: a read is taken to be as long as a write")
    if flush_us is None:
        notes.append("flushes of the device were not timed: one is taken to be as long as a write")
    write = write_us if write_us is not None else read_us or 0.0
    peak = 0.0
    for one in cells:
        both = [one.measured("storage", f"{kind}_bytes_per_s") for kind in ("read", "write")]
        if all(len(each) for each in both):
            length = min(len(each) for each in both)
            peak = max(peak, float((both[0].value[:length] + both[1].value[:length]).max()))
    return Storage(
        read_us=max((read_us if read_us is not None else write) * share, 1.0),
        write_us=max(write, 1.0),
        flush_us=flush_us if flush_us is not None else write,
        peak_bytes_per_s=peak,
    )


def _others(cells: Sequence[Cell], server_cores: float, cores: int) -> float:
    """Cores that neither client nor server used: other programs', and what the machine's host gave to others."""

    def mean(metric: str) -> float:
        known = [one for one in (_mean(cell, "machine", metric) for cell in cells) if one is not None]
        return sum(known) / len(known) / 100 if known else 0.0

    # `others` are all processes but the client's own; of a server on another machine they have no part.
    return max(0.0, mean("others_cpu_pct") - server_cores) + mean("cpu_steal_pct") * cores


def _note_others(base: Base, notes: list[str]) -> None:
    if base.others_cores > OTHERS_SHARE * base.cores:
        what = f"other programs took {base.others_cores:.1f} of the machine's {base.cores} cores"
        notes.append(f"{what}: the prediction is of a machine that is as busy")
