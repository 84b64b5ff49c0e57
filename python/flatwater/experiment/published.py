"""Published figures, and the cells they stand beside."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from flatwater.experiment.database.settings import TABLE as SETTINGS
from flatwater.experiment.database.settings import spell_field
from flatwater.experiment.fields import all_fields, get_value, known_kinds, resolve_value, why_no_field
from flatwater.experiment.problem import Problem, Table, quote, raise_problems, refuse
from flatwater.experiment.roles import role_of
from flatwater.experiment.units import parse_size
from flatwater.spelling import suggest

if TYPE_CHECKING:
    from flatwater.experiment.experiment import Experiment

#: Figures of a cell's summary.
METRICS = (
    "mean",
    "median",
    "stddev",
    "flatness",
    "latency_us.p50",
    "latency_us.p95",
    "latency_us.p99",
    "latency_us.p999",
    "latency_us.max",
    "fast",
    "steady",
    "transition_s",
    "transition_begin_s",
    "transition_end_s",
    "dip_period_s",
    "dip_depth",
    "dip_length_s",
)
#: Figures that are times.
_IN_SECONDS = ("transition_s", "transition_begin_s", "transition_end_s", "dip_period_s", "dip_length_s")
#: Figures in the unit of the experiment's throughput.
IN_THROUGHPUT_UNIT = ("mean", "median", "stddev", "fast", "steady")
#: The unit of a figure that is a ratio to another cell's.
RATIO_UNIT = "x"
#: Cells of a sweep among which the one of a ratio is looked for.
MAX_SEARCHED_CELLS = 100_000
#: Recorded series, `layer.metric`: their mean, with `.max` their maximum; each layer names its own.
_SERIES = re.compile(r"(workload|database|cache|storage|machine)\.[a-z0-9_]+(\.max)?")
#: How far off a figure may be and still agree, as a share, where its file does not say.
WITHIN = 0.25


def check_metric(metric: str) -> str:
    """A metric by its name. Raises ValueError where there is no such figure."""
    if metric not in METRICS and not _SERIES.fullmatch(metric):
        raise refuse(f"{quote(metric)} is not a metric", suggest(metric, METRICS))
    return metric


def _size(value: Any) -> Any:
    """A figure in bytes may be written as a size: "2854M"."""
    try:
        return float(parse_size(value)) if isinstance(value, str) else value
    except ValueError as error:
        raise refuse(str(error), "a number; of a metric in bytes also a size, such as 2854M") from None


def _set(table: Any) -> Any:
    return check_cells("set", table)


def _relative_to(table: Any) -> Any:
    return check_cells("relative_to", table)


def check_cells(name: str, table: Any) -> Any:
    """Fields and values that name cells, flat; raises with what is wrong with them."""
    if not isinstance(table, Mapping):
        return table
    flat = dict(_flatten_set(table))
    raise_problems(name, _set_faults(flat))
    return flat


def _flatten_set(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    # A value may itself be a table (mixed block sizes): stop at known fields.
    for name, value in table.items():
        if isinstance(value, Mapping) and (name not in all_fields() or name == SETTINGS):
            for inner, inner_value in value.items():
                yield from _flatten_set({f"{name}.{inner}": inner_value})
        else:
            yield spell_field(name), value


def _set_faults(flat: Mapping[str, Any]) -> Iterator[Problem]:
    for field, value in flat.items():
        missing = why_no_field(field)
        if missing is not None:
            yield Problem(field, *missing, (field,))
            continue
        try:
            resolve_value(field, value)
        except ValueError as error:
            yield Problem(field, error.args[0], error.args[1], (field,))


class PublishedFigure(Table):
    """`[[published]]`: a figure that someone published for the cells that have `set`."""

    set: Annotated[dict[str, Any], BeforeValidator(_set)] = Field(default_factory=dict)
    metric: Annotated[str, AfterValidator(check_metric)] = "mean"
    #: Of a metric in bytes also a size.
    value: Annotated[float, BeforeValidator(_size)]
    #: Where a range was published: its upper end, `value` is the lower one.
    up_to: Annotated[float | None, BeforeValidator(_size)] = None
    #: Only a lower bound was published ("over 1000"): `value` or anything above it.
    at_least: bool = False
    #: Names another cell: `value` is how many times that cell's figure this one is, and the unit is `x`.
    relative_to: Annotated[dict[str, Any] | None, BeforeValidator(_relative_to)] = None
    unit: Annotated[str, Field(min_length=1)]
    #: Ours agrees when its error is at most this share.
    within: float = Field(default=WITHIN, gt=0, le=10)
    #: Something of the model was set so that this figure is met: it says less than the others.
    fitted: bool = False
    #: Why ours does not agree: the reason that was found.
    missed: Annotated[str, Field(min_length=1)] | None = None
    #: Who measured it, on what, when.
    source: Annotated[str, Field(min_length=1)]

    @model_validator(mode="after")
    def _range_goes_up(self) -> Self:
        if self.up_to is not None and self.up_to <= self.value:
            what = f"must be more than value ({self.value:g}), not {self.up_to:g}"
            raise_problems("published", [Problem("up_to", what, "value is the range's lower end", ("up_to", "value"))])
        if self.up_to is not None and self.at_least:
            what = "at_least and up_to exclude each other"
            raise_problems("published", [Problem("at_least", what, "take one of them out", ("at_least", "up_to"))])
        if (self.relative_to is None) is (self.unit == RATIO_UNIT):
            if self.relative_to is None:
                hint = 'relative_to = { "FIELD" = VALUE } names the cell that it is a ratio to'
                raise_problems("published", [Problem("unit", '"x" is the unit of a ratio to another cell', hint)])
            what = f'a ratio to another cell is in "x", not in {self.unit}'
            raise_problems("published", [Problem("unit", what, 'unit = "x"', ("relative_to",))])
        return self

    def error(self, ours: float) -> float | None:
        """Ours / published - 1; of a range, or of a bound, its nearer end is meant, and within it there is no
        error.
        """
        last = math.inf if self.at_least else self.value if self.up_to is None else self.up_to
        nearest = min(max(ours, self.value), last)
        return ours / nearest - 1 if nearest else None

    def agrees(self, ours: float) -> bool:
        """Whether ours is as near as `within` asks."""
        error = self.error(ours)
        return ours == self.value if error is None else abs(error) <= self.within

    @cached_property
    def _resolved(self) -> dict[Any, dict[str, Any]]:
        return {}

    @property
    def resolved(self) -> dict[str, Any]:
        """`set` with its values in plain units."""
        kinds = known_kinds()
        if kinds not in self._resolved:
            self._resolved[kinds] = resolve_cells(self.set)
        return self._resolved[kinds]

    @property
    def resolved_base(self) -> dict[str, Any]:
        """`relative_to` with its values in plain units; empty where there is none."""
        return resolve_cells(self.relative_to or {})


def published_for(
    experiment: Experiment,
    set: Mapping[str, Any],  # noqa: A002 (the file's own word)
) -> list[PublishedFigure]:
    """The figures that stand beside the cell with this `set`, in the file's order: the first is the main one."""
    if not experiment.published:
        return []
    cell = resolve_cells(set)
    return [figure for figure in experiment.published if _has(experiment, cell, figure.resolved)]


def has_values(experiment: Experiment, set: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:  # noqa: A002
    """Whether the cell with this `set` has all the values that are `wanted` (in plain units)."""
    return _has(experiment, resolve_cells(set), wanted)


def _has(experiment: Experiment, cell: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(
        (cell[field] if field in cell else get_value(experiment, field)) == value for field, value in wanted.items()
    )


def figure_faults(experiment: Experiment, figure: PublishedFigure) -> Iterator[tuple[str, str | None]]:
    """Why a figure stands beside no cell of the experiment: what is wrong, and a hint."""
    yield from set_faults(experiment, figure.set)


def resolve_cells(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Fields and values that name cells, in plain units."""
    return {field: resolve_value(field, value) for field, value in cells.items()}


def set_faults(
    experiment: Experiment,
    set: Mapping[str, Any],  # noqa: A002 (the file's own word)
) -> Iterator[tuple[str, str | None]]:
    """Why no cell of the experiment has this `set`: what is wrong, and a hint."""
    resolved = resolve_cells(set)
    swept: list[str] = []
    for number, dimension in enumerate(experiment.sweep.dimensions):
        wanted = {field: value for field, value in resolved.items() if field in dimension}
        swept.extend(wanted)
        if wanted and not experiment.sweep.matcher.steps(number, wanted):
            told = ", ".join(f"{field} = {set[field]}" for field in wanted)
            choices = ", ".join(str(value) for field in wanted for value in dimension[field][:8])
            if len(wanted) == 1:
                yield f"matches no cell: {told} is not swept", f"swept: {choices}"
            else:
                yield f"matches no cell: {told} do not stand together in sweep.zip", None
    for field, value in resolved.items():
        if field not in swept and get_value(experiment, field) != value:
            stands = get_value(experiment, field)
            told = f"{field} is not set" if stands is None else f"{field} is {stands}, not {set[field]}"
            yield f"matches no cell: {told}", f"sweep {field}, or take it out of the set"


def relative_faults(experiment: Experiment, figure: PublishedFigure) -> Iterator[tuple[str, str | None]]:
    """Why a ratio has no other cell that it is a ratio to: it must name exactly one."""
    # A cell taken out of its sweep keeps its figures: the other cell is not its affair.
    if figure.relative_to is None or not experiment.sweep.dimensions:
        return
    faults = list(one_cell_faults(experiment, figure.relative_to, "a ratio is to one"))
    yield from faults
    if not faults and has_values(
        experiment, experiment.sweep.values_at(positions_of(experiment, figure.relative_to)[0]), figure.resolved
    ):
        told = cells_text(figure.relative_to)
        yield f"{told} is the very cell that the figure stands beside", "narrow `set`, or name another cell"
    if not faults and figure.metric in IN_THROUGHPUT_UNIT:
        places = [*positions_of(experiment, figure.relative_to), *positions_of(experiment, figure.set)]
        yield from direction_faults(experiment, places)


def direction_faults(experiment: Experiment, places: Iterable[int]) -> Iterator[tuple[str, str | None]]:
    """Why figures of these cells cannot be set against each other: what they count differs from cell to cell."""
    for field in experiment.sweep.fields:
        if role_of(field) != "direction":
            continue
        found = list(dict.fromkeys(str(experiment.sweep.values_at(place)[field]) for place in places))
        if len(found) > 1:
            yield f"is of cells in {' and '.join(found)}, which cannot be compared", f"narrow it to one {field}"


def cells_text(cells: Mapping[str, Any]) -> str:
    """Fields and values as a message names cells by them."""
    return ", ".join(f"{field} = {value}" for field, value in cells.items()) or "an empty table"


def positions_of(experiment: Experiment, cells: Mapping[str, Any]) -> list[int]:
    """The positions of the sweep that have these values."""
    wanted = resolve_cells(cells)
    fixed = {field: value for field, value in wanted.items() if field not in experiment.sweep.fields}
    return experiment.sweep.matcher.positions(wanted) if _has(experiment, {}, fixed) else []


def one_cell_faults(experiment: Experiment, cells: Mapping[str, Any], why: str) -> Iterator[tuple[str, str | None]]:
    """Why these values name no cell, or more than the one that is meant (`why`)."""
    sweep = experiment.sweep
    if sweep.positions > MAX_SEARCHED_CELLS:
        yield f"of so many cells ({sweep.positions:,}) none is looked for", "split the experiment"
        return
    found, told = positions_of(experiment, cells), cells_text(cells)
    if not found:
        yield f"matches no cell: {told}", f"swept: {', '.join(sweep.fields) or 'nothing'}"
    elif len(found) > 1:
        yield f"{told} matches {len(found)} cells, and {why}", "say more of that cell"


def unit_faults(experiment: Experiment, figure: PublishedFigure) -> Iterator[tuple[str, str | None]]:
    """A throughput in another unit than the experiment's cannot be compared."""
    if figure.relative_to is not None:
        return
    unit = get_value(experiment, "workload.unit")
    if figure.metric in IN_THROUGHPUT_UNIT and figure.unit != unit:
        units = " or ".join(f'"{choice}"' for choice in experiment.workload.units())
        yield f"{figure.unit} cannot be compared with the experiment's {unit}", f"workload.unit = {units}"
    if figure.metric in _IN_SECONDS and figure.unit != "s":
        yield f"times are in s here, not {figure.unit}", "convert the value to s"
    if figure.metric.startswith("latency_us.") and figure.unit != "us":
        yield f"latencies are in us here, not {figure.unit}", "convert the value to us"
