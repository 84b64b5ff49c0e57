"""Sweeps: from lists of values to cells.

In the file, `[sweep]` maps fields to lists, and every combination is a cell (a grid). `[sweep.zip]` (or several
`[[sweep.zip]]`) has lists of equal length that advance together: one more dimension of the grid. The last dimension
varies fastest. Cells are numbered in this order, one whole repeat after another, so that existing cells keep their
numbers when repeats are added.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from pydantic import Field, model_serializer

from flatwater.experiment.fields import resolve_value, why_no_field
from flatwater.experiment.kinds import ANY, Kinds
from flatwater.experiment.matching import Dimension, Matcher, length
from flatwater.experiment.parse import Tables
from flatwater.experiment.paths import flatten, swept_fields
from flatwater.experiment.problem import Problem, Table, quote
from flatwater.experiment.stage import Read
from flatwater.results.schema import FieldValues

#: If a list has more wrong values than this, only the first ones are reported one by one.
_MOST_REPORTED = 5
#: Values that TOML has without quotes.
_BARE = re.compile(r"[+-]?\d[\d_]*(\.\d+)?([eE][+-]?\d+)?|true|false")


class Sweep(Table):
    """`[sweep]`: `grid` has one dimension for each field, `zips` one for each group. Values as in the file."""

    grid: Dimension = Field(default_factory=dict)
    zips: list[Dimension] = Field(default_factory=list)

    @model_serializer
    def _write(self) -> Tables:
        return {**self.grid, "zip": self.zips} if self.zips else dict(self.grid)

    @property
    def dimensions(self) -> list[Dimension]:
        """The grid's dimensions, slowest first."""
        return [{field: values} for field, values in self.grid.items()] + self.zips

    @property
    def fields(self) -> list[str]:
        """The swept fields in the file's order."""
        return [field for dimension in self.dimensions for field in dimension]

    @property
    def positions(self) -> int:
        """Cells of one repeat."""
        return math.prod(length(dimension) for dimension in self.dimensions)

    def without(self, fields: Iterable[str]) -> Sweep:
        """The sweep without these fields, and without the fields of these tables."""
        gone = tuple(f"{field}." for field in fields)
        dimensions = [
            {field: values for field, values in dimension.items() if not f"{field}.".startswith(gone)}
            for dimension in [self.grid, *self.zips]
        ]
        return Sweep(grid=dimensions[0], zips=[dimension for dimension in dimensions[1:] if dimension])

    @cached_property
    def _matchers(self) -> dict[Kinds, Matcher]:
        return {}

    def matcher(self, kinds: Kinds = ANY) -> Matcher:
        """Finds cells by their values, in the meaning that these kinds give them; made once."""
        if kinds not in self._matchers:
            self._matchers[kinds] = Matcher(self.dimensions, kinds)
        return self._matchers[kinds]

    def values_at(self, position: int) -> FieldValues:
        """The swept fields of one position of the grid, as the user wrote them."""
        values: FieldValues = {}
        for dimension in reversed(self.dimensions):
            position, step = divmod(position, length(dimension))
            values = {field: choices[step] for field, choices in dimension.items()} | values
        return values


def read_sweep(table: Any, kinds: Kinds) -> Read[Sweep]:
    """Reads `[sweep]` of a file. Lists with errors are left out."""
    if not isinstance(table, Mapping):
        return Read(Sweep(), (Problem("sweep", f"must be a table, not {quote(table)}"),))
    grid = dict(flatten({name: values for name, values in table.items() if name != "zip"}))
    groups = _groups(table.get("zip", {}))
    problems = list(_faults(grid, groups or {}, kinds))
    if groups is None:
        problems.insert(0, Problem("zip", "must be a table of lists"))
    wrong = {problem.field for problem in problems}
    left_out = {field for field in grid if field in wrong}
    if any(name.partition(".")[0] == "zip" for name in wrong):
        # Lists that advance together are used only if all of them are right.
        left_out |= swept_fields({"zip": table.get("zip")})
        groups = {}
    sound = {field: values for field, values in grid.items() if field not in left_out}
    zips = [dict(group) for group in (groups or {}).values() if group]
    placed = (Problem(f"sweep.{one.field}", one.what, one.hint, one.rests_on) for one in problems)
    # If a list is left out, the number of cells differs from the file's.
    return Read(Sweep(grid=sound, zips=zips), tuple(placed), frozenset(left_out | {"sweep"} if problems else left_out))


def _groups(zips: Any) -> dict[str, Tables] | None:
    """The lists of each group, by the place of the group; None if a group is not a table."""
    if isinstance(zips, Mapping):
        return {"zip": dict(flatten(zips))}
    if isinstance(zips, list) and all(isinstance(group, Mapping) for group in zips):
        return {f"zip.{number}": dict(flatten(group)) for number, group in enumerate(zips)}
    return None


def _faults(grid: Mapping[str, Any], zips: Mapping[str, Mapping[str, Any]], kinds: Kinds) -> Iterator[Problem]:
    seen: set[str] = set()
    for place, group in {"": grid, **zips}.items():
        for field, values in group.items():
            name = f"{place}.{field}" if place else field
            if field in seen:
                yield Problem(name, "is swept twice", "keep one of the lists", (field,))
            for other in seen:
                if field.startswith(f"{other}.") or other.startswith(f"{field}."):
                    what = f"{other} is swept too, and one of the two holds the other"
                    yield Problem(name, what, "keep one of the lists", (field, other))
            seen.add(field)
            yield from _list_faults(name, field, values, kinds)
    for place, group in zips.items():
        lengths = {field: len(values) for field, values in group.items() if isinstance(values, list)}
        if len(set(lengths.values())) > 1:
            text = ", ".join(f"{field} has {count}" for field, count in lengths.items())
            yield Problem(place, f"lists that are walked together must have equal lengths: {text}", None, tuple(group))


def _as_list(value: Any) -> str:
    """The list that was probably meant, as TOML: `1,2` becomes a list of two integers."""
    if not isinstance(value, str):
        return f"[{quote(value)}]"
    parts = [part.strip(" '\"") for part in value.strip("[] ").split(",")]
    return f"[{', '.join(part if _BARE.fullmatch(part) else quote(part) for part in parts)}]"


def _list_faults(name: str, field: str, values: Any, kinds: Kinds) -> Iterator[Problem]:
    missing = why_no_field(field, kinds)
    if missing is not None:
        what, hint = missing
        yield Problem(name, what.replace("no such field", "no such field to sweep"), hint, (field,))
    elif not isinstance(values, list):
        yield Problem(name, f"must be a list of values, not {quote(values)}", _as_list(values), (field,))
    elif not values:
        yield Problem(name, "the list of values is empty", "take it out, or give it a value", (field,))
    else:
        wrong = list(_value_faults(name, field, values, kinds))
        yield from wrong
        if not wrong and field.endswith(".kind") and len(set(values)) > 1:
            what = "kinds cannot be swept: each has fields of its own"
            yield Problem(name, what, "one experiment for each", (field,))


def _value_faults(name: str, field: str, values: list[Any], kinds: Kinds) -> Iterator[Problem]:
    first: dict[str, int] = {}
    wrong = 0
    for number, value in enumerate(values, start=1):
        try:
            resolved = repr(resolve_value(field, value, kinds))
        except ValueError as error:
            what, hint = error.args
        else:
            # Lists that advance together may repeat a value.
            if name.startswith("zip") or first.setdefault(resolved, number) == number:
                continue
            what = f"{quote(value)} is the same as value {first[resolved]}"
            hint = "to measure a cell several times use repeat"
        wrong += 1
        if wrong <= _MOST_REPORTED:
            yield Problem(name, f"value {number} of {len(values)}: {what}", hint, (field,))
    if wrong > _MOST_REPORTED:
        yield Problem(name, f"{wrong - _MOST_REPORTED} more values are wrong", None, (field,))
