"""What a cell's limits are held against: its figures, its series, what it costs, a stored baseline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from flatwater.analysis.baseline import ratio_to
from flatwater.analysis.figures import lookup_figure
from flatwater.analysis.thresholds import Figures, Ratio, Told, judge
from flatwater.cost import Asked, Candidate, Comparison, candidate_of, compare_costs, read_book
from flatwater.errors import UserError
from flatwater.experiment import PlannedCell
from flatwater.results import Cell, CellSummary, Result, Series
from flatwater.results.phases import measured_samples
from flatwater.results.schema import ThresholdResult

#: Reads one measured series by layer and metric.
Measured = Callable[[str, str], Series]
_AGE, _LIMIT = "checkpoint_age_bytes", "checkpoint_age_max_bytes"


def judge_cell(result: Result, cell: Cell, plan: PlannedCell, summary: CellSummary) -> list[ThresholdResult]:
    """The limits of the cell's experiment, judged; none for a cell that was not measured to its end."""
    thresholds = plan.experiment.thresholds
    if thresholds is None or summary.status != "complete":
        return []

    def measured(layer: str, metric: str) -> Series:
        # The cell's own phases are those of its journal, without SNIA's approach.
        return measured_samples(cell.series(layer, metric), summary.phases)

    def ratio() -> Ratio:
        return ratio_to(thresholds.baseline or "", plan, measured("workload", "throughput"))

    figures = Figures(
        summary=summary,
        lookup=lambda name: lookup_figure(summary, name),
        checkpoint_age_pct=lambda: checkpoint_age_pct(measured),
        life_years=lambda: _life(result, cell, plan, summary),
        cost_per_unit=lambda: _cost(result, cell, plan, summary),
        ratio=ratio,
    )
    return judge(thresholds, figures)


def checkpoint_age_pct(measured: Measured) -> Told:
    """The highest checkpoint age in % of the server's own limit at that moment."""
    age, limit = measured("database", _AGE), measured("database", _LIMIT)
    if not len(age.value):
        return Told(why="no checkpoint age was recorded: the run has no server that tells it")
    if not len(limit.value):
        return Told(why="the server's limit of the checkpoint age is not known")
    # A limit that is resized while the server runs is recorded less often than the age.
    limits = limit.value[np.searchsorted(limit.time_s, age.time_s, side="right").clip(1) - 1]
    known = np.isfinite(age.value) & (limits > 0)
    if not known.any():
        return Told(why="the server's limit of the checkpoint age is not known")
    return Told(float(100 * np.max(age.value[known] / limits[known])))


def _life(result: Result, cell: Cell, plan: PlannedCell, summary: CellSummary) -> Told:
    drives = summary.health
    told = drives.years if drives is not None else None
    if drives is not None and told is not None and not any(drive.modelled for drive in drives.drives):
        # What a drive says of itself is nearer to the truth than the rating of its kind.
        return Told(told)
    found = _priced(result, cell, plan, summary)
    years = None if isinstance(found, str) else found.rows[0].sum.life_years
    if years is not None or told is not None:
        # A modelled drive that no price line has is told by the model's own gauges.
        return Told(years if years is not None else told)
    nothing = "nothing tells a rating or the cells of its drives, or nothing was written to them"
    return Told(why=found if isinstance(found, str) else nothing)


def _cost(result: Result, cell: Cell, plan: PlannedCell, summary: CellSummary) -> Told:
    found = _priced(result, cell, plan, summary)
    if isinstance(found, str):
        return Told(why=found)
    return Told(found.rows[0].cost_per, "; ".join(found.rows[0].sum.unpriced) or "nothing has a price")


def _priced(result: Result, cell: Cell, plan: PlannedCell, summary: CellSummary) -> Comparison | str:
    """The cell with its prices, or why it has none."""
    try:
        candidate: Candidate = candidate_of(plan.experiment, [summary], cell, name=result.name)
        own = [] if candidate.cost.prices is None else [Path(candidate.cost.prices)]
        return compare_costs([candidate], read_book(own), Asked())
    except UserError as error:
        return str(error)
