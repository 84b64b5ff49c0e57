"""A cell that was just measured, beside the same cell of a stored result."""

from __future__ import annotations

from pathlib import Path

from flatwater.analysis.alike import experiment_differences
from flatwater.analysis.autocorrelation import estimate_mean
from flatwater.analysis.compare import cells_by_set, pooled_estimate, ratio_interval, set_key
from flatwater.analysis.thresholds import Ratio
from flatwater.errors import UserError
from flatwater.experiment import PlannedCell, load, make_cell
from flatwater.experiment.named_file import require_may_open
from flatwater.results import Result, Series, open_result


def absent(baseline: str) -> str:
    """Why a baseline cannot be opened; empty if it can. Cells and their values are only known after the run."""
    try:
        _opened(baseline)
    except UserError as error:
        return str(error)
    return ""


def _opened(baseline: str) -> Result:
    """Errors: UserError if it is no result, or may not be opened."""
    require_may_open(Path(baseline))
    return open_result(Path(baseline))


def ratio_to(baseline: str, plan: PlannedCell, measured: Series) -> Ratio:
    """The cell's mean as a ratio to that of the baseline's cell of the same swept values, with its 95 % interval.

    `measured` is the cell's throughput over the measured phase. There is no ratio, but the reason, where the baseline
    cannot be read, has no such cell, or answers another question.
    """
    try:
        stored = _opened(baseline)
        if stored.manifest.source != "run":
            return Ratio(why=f"{baseline} was imported: nothing tells whether it measured the same")
        partners = cells_by_set(stored).get(set_key(plan.set))
        if not partners:
            return Ratio(why=f"{baseline} has no complete cell of these values")
        theirs = make_cell(load(stored.path / "experiment.toml"), partners[0].set)
        before = pooled_estimate(partners)
    except UserError as error:
        return Ratio(why=str(error))
    found = experiment_differences(theirs.model_dump(), plan.experiment.model_dump())
    decisive = [one.field for one in found if one.decisive]
    if decisive:
        return Ratio(why=f"it answers another question than {baseline}: they differ in {', '.join(decisive)}")
    after = estimate_mean(measured.value) if len(measured.value) > 1 else None
    if before is None or after is None:
        return Ratio(why="one of the two runs is too short for a confidence interval")
    if before.mean <= 0 or after.mean <= 0:
        return Ratio(why="one of the two runs did nothing")
    return Ratio(*ratio_interval(before, after))
