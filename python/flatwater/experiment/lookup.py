"""Finds the cells of an experiment with given values, and the published figures of a cell."""

from __future__ import annotations

from flatwater.experiment.expected import Expectation
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.fields import get_value, resolve_cells
from flatwater.experiment.published import PublishedFigure
from flatwater.results.schema import FieldValues


def published_for(
    experiment: Experiment,
    set: FieldValues,  # noqa: A002 (the name in the file)
) -> list[PublishedFigure]:
    """The published figures of the cell with this `set`, in the file's order: the first is the main one."""
    if not experiment.published:
        return []
    kinds = experiment.kinds
    cell = resolve_cells(set, kinds)
    return [figure for figure in experiment.published if _has(experiment, cell, figure.resolved(kinds))]


def has_values(experiment: Experiment, set: FieldValues, wanted: FieldValues) -> bool:  # noqa: A002
    """Whether the cell with this `set` has all `wanted` values (in plain units)."""
    return _has(experiment, resolve_cells(set, experiment.kinds), wanted)


def _has(experiment: Experiment, cell: FieldValues, wanted: FieldValues) -> bool:
    return all(
        (cell[field] if field in cell else get_value(experiment, field)) == value for field, value in wanted.items()
    )


def positions_of(experiment: Experiment, cells: FieldValues) -> list[int]:
    """The positions of the sweep with these values."""
    kinds = experiment.kinds
    wanted = resolve_cells(cells, kinds)
    fixed = {field: value for field, value in wanted.items() if field not in experiment.sweep.fields}
    return experiment.sweep.matcher(kinds).positions(wanted) if _has(experiment, {}, fixed) else []


def cells_text(cells: FieldValues) -> str:
    """Fields and values as text, as messages name cells."""
    return ", ".join(f"{field} = {value}" for field, value in cells.items()) or "an empty table"


def published_cells(experiment: Experiment, one: Expectation) -> dict[int, float]:
    """Position -> the first published figure of the expectation's metric; the middle of a range."""
    found: dict[int, float] = {}
    places = set(positions_of(experiment, one.set))
    for figure in experiment.published:
        if figure.metric != one.metric or figure.relative_to is not None or figure.at_least:
            continue
        for place in positions_of(experiment, figure.set):
            if place in places:
                found.setdefault(place, figure.value if figure.up_to is None else (figure.value + figure.up_to) / 2)
    return dict(sorted(found.items()))
