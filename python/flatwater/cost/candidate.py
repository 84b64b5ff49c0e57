"""One way to serve a load: what it was measured, or predicted, to do, and the parts that it stands on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from flatwater.analysis.autocorrelation import CONFIDENCE, student_quantile
from flatwater.cost.life import SECONDS_PER_YEAR, Wearing
from flatwater.cost.parts import Parts, Role, parts_of
from flatwater.errors import UserError
from flatwater.experiment import Experiment, ModelledStorage, load, make_cell
from flatwater.experiment.cost import Cost
from flatwater.results import Cell, CellSummary, Result
from flatwater.stores import shown

#: Role -> the series of what is written to its device, and of its write amplification; the first that was recorded.
_WRITTEN: dict[Role, tuple[str, ...]] = {
    "storage": ("storage.host_written_bytes_per_s", "storage.write_bytes_per_s"),
    "cache": ("cache.fast_written_bytes_per_s",),
}
_AMPLIFICATION: dict[Role, str] = {
    "storage": "storage.write_amplification",
    "cache": "cache.fast_write_amplification",
}
#: A drive's gauge falls from 100 to 1 over its rated erases (SMART's media wearout indicator of Intel's drives).
WEAROUT_SPAN = 99.0


@dataclass(frozen=True)
class Candidate:
    """A row of the table before anything is priced. Throughputs in `unit`, `low` to `high` their 95 % interval."""

    name: str
    unit: str
    throughput: float
    low: float | None
    high: float | None
    parts: Parts
    cost: Cost = field(default_factory=Cost)
    #: What is written to each drive, by role.
    wearing: Mapping[Role, Wearing] = field(default_factory=dict)
    #: Years until the first member of an array is worn out, from the fall of its gauge in the run.
    member_years: float | None = None
    #: Where the run is, and which cell; empty for a prediction.
    run: str = ""
    cell: int | None = None
    modelled: bool = False
    predicted: bool = False
    notes: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """What it stands on, in a few words: candidates of one family have one colour."""
        devices = [part.name or "drive" for part in self.parts.parts if part.role == "storage"]
        cached = [f"{part.name or 'drive'} as cache" for part in self.parts.parts if part.role == "cache"]
        return ", ".join(dict.fromkeys([*devices, *cached])) or "unknown"


def read_experiment(result: Result) -> Experiment:
    """The experiment that a result is of. Errors: UserError where its file does not tell one (an import)."""
    try:
        return load(result.path / "experiment.toml")
    except UserError as error:
        what = f"nothing tells what the run stands on: {error}"
        hint = "price an imported run with --item for every part" if result.manifest.source != "run" else error.hint
        raise UserError(what, where=str(result.path), hint=hint) from None


def candidates_of(result: Result, prefix: str = "", cell: int | None = None) -> list[Candidate]:
    """Every complete cell of a result, repeats as their mean. Errors: UserError when none has a throughput."""
    imported = result.manifest.source != "run"
    experiment = None if imported else read_experiment(result)
    groups: dict[str, list[Cell]] = {}
    for one in result.cells:
        if one.summary is not None and one.summary.status == "complete" and one.summary.mean:
            groups.setdefault(repr(sorted(one.set.items())), []).append(one)
    if cell is not None:
        groups = {key: group for key, group in groups.items() if cell in [one.index for one in group]}
    if not groups:
        what = "has no complete cell with a throughput" if cell is None else f"has no complete cell {cell}"
        raise UserError(what, where=str(result.path), hint="flatwater report shows its cells")
    return [_candidate(result, experiment, group, prefix, alone=len(groups) == 1) for group in groups.values()]


def _candidate(
    result: Result, experiment: Experiment | None, cells: Sequence[Cell], prefix: str, *, alone: bool
) -> Candidate:
    first, summaries = cells[0], [one.summary for one in cells if one.summary is not None]
    label = "" if alone and not first.given_name else first.label
    planned = None if experiment is None else make_cell(experiment, first.set)
    name = ": ".join(part for part in (prefix, label) if part) or result.name
    return candidate_of(planned, summaries, first, name=name)


def candidate_of(planned: Experiment | None, summaries: Sequence[CellSummary], cell: Cell, *, name: str) -> Candidate:
    """A cell, with the summaries of its repeats; `planned` is its experiment, None where nothing tells one."""
    throughput, low, high = _throughput(summaries)
    return Candidate(
        name=name,
        unit=summaries[0].unit,
        throughput=throughput,
        low=low,
        high=high,
        parts=Parts(()) if planned is None else parts_of(planned),
        cost=Cost() if planned is None or planned.cost is None else planned.cost,
        wearing={role: _wearing(summaries, role) for role in _WRITTEN},
        member_years=None if planned is None else _member_years(cell, planned),
        run=shown(cell.result.path),
        cell=cell.index,
        modelled=planned is not None and planned.in_virtual_time,
    )


def _throughput(summaries: Sequence[CellSummary]) -> tuple[float, float | None, float | None]:
    """The mean of the repeats, and its 95 % interval: the wider of what the runs' own noise and the spread between
    repeats give. None where a run was too short to know its noise.
    """
    means = np.array([one.mean for one in summaries if one.mean is not None], dtype=np.float64)
    mean = float(means.mean())
    margins = [one.mean_ci95 for one in summaries]
    if any(one is None for one in margins):
        return mean, None, None
    half = math.sqrt(sum(one * one for one in margins if one is not None)) / len(means)
    if len(means) > 1:
        error = float(means.std(ddof=1)) / math.sqrt(len(means))
        half = max(half, student_quantile(0.5 + CONFIDENCE / 2, len(means) - 1.0) * error)
    return mean, max(mean - half, 0.0), mean + half


def _wearing(summaries: Sequence[CellSummary], role: Role) -> Wearing:
    written = next((rate for name in _WRITTEN[role] if (rate := _mean(summaries, name)) is not None), None)
    return Wearing(written, _mean(summaries, _AMPLIFICATION[role]))


def _mean(summaries: Sequence[CellSummary], name: str) -> float | None:
    values = [one.metrics[name].mean for one in summaries if name in one.metrics]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _member_years(cell: Cell, experiment: Experiment) -> float | None:
    """Years of a new array's first member to wear out, from how its gauge fell while it was measured."""
    storage = experiment.storage
    if not isinstance(storage, ModelledStorage):
        return None
    years = []
    for layer, metric in cell.metrics():
        if layer != "storage" or not metric.endswith("_media_wearout"):
            continue
        series = cell.measured(layer, metric)
        if len(series.value) < 2:
            continue
        fallen = float(series.value[0] - series.value[-1])
        seconds = float(series.time_s[-1] - series.time_s[0])
        if fallen > 0 and seconds > 0:
            # A scaled drive has a share of the flash, and falls as much faster.
            years.append(WEAROUT_SPAN / (fallen / seconds) / storage.capacity_scale / SECONDS_PER_YEAR)
    return min(years, default=None)


def read_price_files(candidates: Sequence[Candidate], own: Sequence[Path]) -> list[Path]:
    """The price files to read: the experiments' own, then the command line's."""
    told = [Path(one.cost.prices) for one in candidates if one.cost.prices is not None]
    return list(dict.fromkeys([*told, *own]))
