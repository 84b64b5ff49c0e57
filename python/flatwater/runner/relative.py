"""Published figures that are ratios to another cell: computed when both cells are complete."""

from __future__ import annotations

from flatwater.analysis.figures import lookup_figure
from flatwater.experiment import Experiment
from flatwater.experiment.lookup import positions_of, published_for
from flatwater.experiment.published import PublishedFigure
from flatwater.results import Cell, Published, Result


def fill_relative(experiment: Experiment, result: Result) -> None:
    """Adds our ratio to each published ratio whose two cells are complete.

    Repeats of the other cell count as their mean. Reads no summary if no figure is a ratio.
    """
    if not any(figure.relative_to is not None for figure in experiment.published):
        return
    bases: dict[int, float | None] = {
        number: _base(experiment, figure, result)
        for number, figure in enumerate(experiment.published)
        if figure.relative_to is not None
    }
    for cell in result.cells:
        figures = published_for(experiment, cell.set)
        if not _is_complete(cell) or all(figure.relative_to is None for figure in figures):
            continue
        summary = cell.stored_summary()
        kept = ([summary.published] if summary.published else []) + summary.published_others
        for figure, one in zip(figures, kept, strict=True):
            base = bases.get(experiment.published.index(figure))
            mine = lookup_figure(summary, figure.metric)
            if base and mine is not None:
                _fill(one, figure, mine / base)
        cell.finish(summary)


def _fill(one: Published, figure: PublishedFigure, ours: float) -> None:
    one.ours, one.error, one.agrees = ours, figure.error(ours), figure.agrees(ours)


def _base(experiment: Experiment, figure: PublishedFigure, result: Result) -> float | None:
    places, positions = set(positions_of(experiment, figure.relative_to or {})), experiment.sweep.positions
    found = [
        value
        for cell in result.cells
        if cell.index % positions in places and _is_complete(cell)
        if (value := lookup_figure(cell.stored_summary(), figure.metric)) is not None
    ]
    return sum(found) / len(found) if found else None


def _is_complete(cell: Cell) -> bool:
    """Whether a cell is complete. Its folder has the summary until the whole result is sealed."""
    return (cell.folder / "summary.json").is_file() and cell.stored_summary().status == "complete"
