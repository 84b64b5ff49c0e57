"""A run among repeated ones: its figures, and what was recorded of its circumstances."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from flatwater.analysis.compare import cells_by_set
from flatwater.analysis.figures import figure_names, lookup_figure
from flatwater.errors import UserError
from flatwater.results import Cell, CellSummary, Result
from flatwater.results.facts import MachineFacts

#: `source` of a result whose machine and experiment flatwater knows.
_RUN = "run"


@dataclass(frozen=True)
class RunCell:
    """What a run says of one setting of its experiment."""

    label: str
    unit: str
    #: The asked figures by their names: the mean over the repeats of the run. One that is unknown is absent.
    figures: Mapping[str, float]
    #: Of the first of the repeats.
    index: int
    summary: CellSummary


@dataclass(frozen=True)
class Run:
    """One run of an experiment."""

    path: Path
    name: str
    #: When it began.
    at: datetime
    schema_version: int
    flatwater_version: str
    experiment: Mapping[str, Any]
    machine: MachineFacts
    swept: frozenset[str]
    #: By `set_key` of what is swept.
    cells: Mapping[str, RunCell]
    #: The names of all figures that it has.
    names: frozenset[str]

    @cached_property
    def content(self) -> str:
        """A text that is the same for experiments that say the same."""
        return json.dumps(self.experiment, sort_keys=True, default=str)


def read_run(result: Result, metrics: Sequence[str]) -> Run:
    """The run of a result, with the asked figures of its complete cells.

    Errors: UserError for a result that cannot be one of several runs, with the reason.
    """
    manifest = result.manifest
    if manifest.source != _RUN:
        what = f"it is no run of an experiment of flatwater, but of the kind {manifest.source!r}"
        raise UserError(what, where=str(result.path))
    cells = {key: _cell(repeats, metrics) for key, group in cells_by_set(result).items() if (repeats := _done(group))}
    if not cells:
        raise UserError("no cell of it is complete", where=str(result.path))
    return Run(
        result.path,
        manifest.name,
        _time(manifest.created_at, result.path),
        manifest.schema_version,
        manifest.flatwater_version,
        result.experiment,
        result.machine,
        frozenset(field for cell in result.cells for field in cell.set),
        cells,
        frozenset().union(*(figure_names(cell.summary) for cell in cells.values())),
    )


def _done(group: Sequence[Cell]) -> list[tuple[Cell, CellSummary]]:
    return [(cell, cell.summary) for cell in group if cell.summary is not None and cell.summary.status == "complete"]


def _cell(repeats: Sequence[tuple[Cell, CellSummary]], metrics: Sequence[str]) -> RunCell:
    cell, summary = repeats[0]
    # The name of one setting among several; an experiment without a sweep has no need of one.
    label = cell.label.removesuffix(f" (repeat {cell.plan.repeat + 1})") if cell.set else ""
    figures = {}
    for metric in metrics:
        values = [lookup_figure(one, metric) for _, one in repeats]
        known = [value for value in values if value is not None and math.isfinite(value)]
        if known:
            figures[metric] = math.fsum(value / len(known) for value in known)
    # Of hundreds of runs, only what is looked at.
    small = summary.model_copy(update={"histograms": {}, "events": [], "statements": []})
    return RunCell(label, summary.unit, figures, cell.index, small)


def _time(written: str, path: Path) -> datetime:
    try:
        at = datetime.fromisoformat(written)
        return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise UserError("when it began cannot be read", where=str(path), hint="the result is damaged") from None
