"""Published figures. lookup.py finds their cells."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from flatwater.experiment.database.settings import TABLE as SETTINGS
from flatwater.experiment.database.settings import spell_field
from flatwater.experiment.fields import all_fields, resolve_cells, resolve_value, why_no_field
from flatwater.experiment.kinds import ANY, Kinds
from flatwater.experiment.problem import MISSING, Problem, Table, quote, raise_problems, refuse
from flatwater.experiment.units import parse_size
from flatwater.results.agreement import PREDICTED, Standing
from flatwater.results.schema import FieldValues
from flatwater.spelling import suggest

#: The figures of a cell's summary.
METRICS = (
    "mean",
    "median",
    "stddev",
    "cv_pct",
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
IN_SECONDS = ("transition_s", "transition_begin_s", "transition_end_s", "dip_period_s", "dip_length_s")
#: Figures in the unit of the experiment's throughput.
IN_THROUGHPUT_UNIT = ("mean", "median", "stddev", "fast", "steady")
#: The unit of a ratio to another cell's figure.
RATIO_UNIT = "x"
#: Recorded series, `layer.metric`: their mean, or with `.max` their maximum. Each layer names its own.
_SERIES = re.compile(r"(workload|database|cache|storage|machine)\.[a-z0-9_]+(\.max)?")
#: The largest error that counts as agreement, as a share, if the file gives none: of a figure, and of one that was only
#: published as "about" so much.
WITHIN = 0.15
WITHIN_ABOUT = 0.25


def standing_faults(standing: Standing, by: str | None) -> Iterator[Problem]:
    """A standing other than "predicted" says why, and only that."""
    if standing == PREDICTED and by is not None:
        hint = 'take it out, or write standing = "fitted" or "follows"'
        yield Problem("by", "is the reason of a standing, and none is given", hint, ("by", "standing"))
    if standing != PREDICTED and by is None:
        hint = "the parameters that were fitted" if standing == "fitted" else "what it follows from"
        yield Problem("by", MISSING, hint, ("by", "standing"))


def check_metric(metric: str) -> str:
    """Checks the name of a metric. Raises ValueError if there is no such figure."""
    if metric not in METRICS and not _SERIES.fullmatch(metric):
        raise refuse(f"{quote(metric)} is not a metric", suggest(metric, METRICS))
    return metric


def _size(value: Any) -> Any:
    """A figure in bytes may be a size: "2854M"."""
    try:
        return float(parse_size(value)) if isinstance(value, str) else value
    except ValueError as error:
        raise refuse(str(error), "a number; of a metric in bytes also a size, such as 2854M") from None


def _set(table: Any, info: ValidationInfo) -> Any:
    return check_cells("set", table, kinds_in(info))


def _relative_to(table: Any, info: ValidationInfo) -> Any:
    return check_cells("relative_to", table, kinds_in(info))


def kinds_in(info: ValidationInfo) -> Kinds:
    """The kinds in the context of the validation: `model_validate(entry, context=kinds)`."""
    return info.context if isinstance(info.context, Kinds) else ANY


def check_cells(name: str, table: Any, kinds: Kinds) -> Any:
    """Fields and values that name cells, flat. Raises with what is wrong with them."""
    if not isinstance(table, Mapping):
        return table
    flat = dict(_flatten_set(table, kinds))
    raise_problems(name, _set_faults(flat, kinds))
    return flat


def _flatten_set(table: Mapping[str, Any], kinds: Kinds) -> Iterator[tuple[str, Any]]:
    # A value may be a table itself (mixed block sizes): known fields are not flattened further.
    for name, value in table.items():
        if isinstance(value, Mapping) and (name not in all_fields(kinds) or name == SETTINGS):
            for inner, inner_value in value.items():
                yield from _flatten_set({f"{name}.{inner}": inner_value}, kinds)
        else:
            yield spell_field(name), value


def _set_faults(flat: FieldValues, kinds: Kinds) -> Iterator[Problem]:
    for field, value in flat.items():
        missing = why_no_field(field, kinds)
        if missing is not None:
            yield Problem(field, *missing, (field,))
            continue
        try:
            resolve_value(field, value, kinds)
        except ValueError as error:
            yield Problem(field, error.args[0], error.args[1], (field,))


class PublishedFigure(Table):
    """`[[published]]`: a published figure of the cells that have `set`."""

    set: Annotated[FieldValues, BeforeValidator(_set)] = Field(default_factory=dict)
    metric: Annotated[str, AfterValidator(check_metric)] = "mean"
    #: For a metric in bytes, a size is allowed.
    value: Annotated[float, BeforeValidator(_size)]
    #: The upper end of a published range, whose lower end is `value`.
    up_to: Annotated[float | None, BeforeValidator(_size)] = None
    #: The published figure is a lower bound ("over 1000"): `value` and everything above it agrees.
    at_least: bool = False
    #: Names another cell. `value` is then the ratio of this cell's figure to that one's, in the unit `x`.
    relative_to: Annotated[FieldValues | None, BeforeValidator(_relative_to)] = None
    unit: Annotated[str, Field(min_length=1)]
    #: The figure was only published as "about" so much.
    about: bool = False
    #: The largest error of ours that counts as agreement, as a share; `tolerance` has its default.
    within: float | None = Field(default=None, gt=0, le=10)
    #: What the agreement of ours proves.
    standing: Standing = PREDICTED
    #: The parameters that were fitted to this figure, or what makes it follow from fitted ones.
    by: Annotated[str, Field(min_length=1)] | None = None
    #: The reason why ours does not agree.
    missed: Annotated[str, Field(min_length=1)] | None = None
    #: The person or paper, the system, the date.
    source: Annotated[str, Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _fitted_is_a_standing(cls, table: Any) -> Any:
        if isinstance(table, Mapping) and "fitted" in table:
            hint = 'write standing = "fitted", and by = "the parameter that was fitted"'
            raise_problems("published", [Problem("fitted", "is not a field: it is a standing", hint)])
        return table

    @model_validator(mode="after")
    def _standing_has_its_reason(self) -> Self:
        raise_problems("published", standing_faults(self.standing, self.by))
        return self

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

    @property
    def fields(self) -> list[tuple[str, Any]]:
        """The fields and values that name cells."""
        return [*self.set.items(), *(self.relative_to or {}).items()]

    @property
    def tolerance(self) -> float:
        """The largest error of ours that counts as agreement, as a share."""
        return self.within if self.within is not None else WITHIN_ABOUT if self.about else WITHIN

    def error(self, ours: float) -> float | None:
        """Ours / published - 1. For a range or a bound, it is relative to the nearer end, and 0 within."""
        last = math.inf if self.at_least else self.value if self.up_to is None else self.up_to
        nearest = min(max(ours, self.value), last)
        return ours / nearest - 1 if nearest else None

    def agrees(self, ours: float) -> bool:
        """Whether the error of ours is at most `within`."""
        error = self.error(ours)
        # 85 is 15 % below 100, whatever binary fractions make of it.
        return ours == self.value if error is None else abs(error) <= self.tolerance + 1e-9

    @cached_property
    def _resolved(self) -> dict[Kinds, FieldValues]:
        return {}

    def resolved(self, kinds: Kinds = ANY) -> FieldValues:
        """`set` with its values in plain units; computed once."""
        if kinds not in self._resolved:
            self._resolved[kinds] = resolve_cells(self.set, kinds)
        return self._resolved[kinds]
