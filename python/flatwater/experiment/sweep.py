"""Sweeps: from lists of values to cells.

In the file, `[sweep]` maps fields to lists; every combination is a cell (a grid). `[sweep.zip]` (or several
`[[sweep.zip]]`) holds lists of equal length that are walked together, one more dimension of the grid. The last
dimension varies fastest. Cells are numbered in that order, one whole repeat after another, so adding repeats keeps
the numbers of the cells that were there.
"""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_serializer, model_validator

from flatwater.errors import UserError
from flatwater.experiment.database.settings import spell_field
from flatwater.experiment.fields import known_kinds, resolve_value, why_no_field
from flatwater.experiment.matching import Matcher
from flatwater.experiment.problem import Problem, Table, quote, raise_problems

if TYPE_CHECKING:
    from flatwater.experiment.experiment import Experiment

#: The order of the cells is a list in memory; no run of this many cells ends.
MAX_ORDERED_CELLS = 10_000_000
#: Of a list in which everything is wrong, this many values are told one by one.
_MOST_TOLD = 5
#: What stands in TOML without quotes.
_BARE = re.compile(r"[+-]?\d[\d_]*(\.\d+)?([eE][+-]?\d+)?|true|false")

#: One dimension of the grid: fields -> lists of the same length.
Dimension = dict[str, list[Any]]


class Sweep(Table):
    """`[sweep]`: `grid` has one dimension a field, `zips` one dimension a group of fields. Values as written."""

    grid: Dimension = Field(default_factory=dict)
    zips: list[Dimension] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _read(cls, table: Any) -> Any:
        if not isinstance(table, Mapping):
            return table
        zips = table.get("zip", {})
        grid = dict(flatten({name: values for name, values in table.items() if name != "zip"}))
        if isinstance(zips, Mapping):
            groups = {"zip": dict(flatten(zips))}
        elif isinstance(zips, list) and all(isinstance(group, Mapping) for group in zips):
            groups = {f"zip.{number}": dict(flatten(group)) for number, group in enumerate(zips)}
        else:
            raise_problems("sweep", [Problem("zip", "must be a table of lists")])
        raise_problems("sweep", _faults(grid, groups))
        return {"grid": grid, "zips": [group for group in groups.values() if group]}

    @model_serializer
    def _write(self) -> dict[str, Any]:
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

    @cached_property
    def _matchers(self) -> dict[Any, Matcher]:
        return {}

    @property
    def matcher(self) -> Matcher:
        """Finds cells by their values."""
        kinds = known_kinds()
        if kinds not in self._matchers:
            self._matchers[kinds] = Matcher(self.dimensions)
        return self._matchers[kinds]

    def values_at(self, position: int) -> dict[str, Any]:
        """The swept fields of one position of the grid, as the user wrote them."""
        values: dict[str, Any] = {}
        for dimension in reversed(self.dimensions):
            position, step = divmod(position, length(dimension))
            values = {field: choices[step] for field, choices in dimension.items()} | values
        return values


def flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """`{"storage": {"fill": [..]}}` and `{"storage.fill": [..]}` are the same: dotted names and their values."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield spell_field(f"{prefix}{name}"), value


def swept_fields(table: Any) -> set[str]:
    """The fields of a `[sweep]` as the file has it, which may be wrong in any way."""
    if not isinstance(table, Mapping):
        return set()
    zips = table.get("zip")
    groups: list[Mapping[str, Any]] = [{name: values for name, values in table.items() if name != "zip"}]
    groups += [group for group in (zips if isinstance(zips, list) else [zips]) if isinstance(group, Mapping)]
    return {field for group in groups for field, _ in flatten(group)}


def length(dimension: Dimension) -> int:
    """Steps of a dimension."""
    return len(next(iter(dimension.values())))


def _faults(grid: Dimension, zips: Mapping[str, Dimension]) -> Iterator[Problem]:
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
            yield from _list_faults(name, field, values)
    for place, group in zips.items():
        lengths = {field: len(values) for field, values in group.items() if isinstance(values, list)}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{field} has {count}" for field, count in lengths.items())
            yield Problem(place, f"lists that are walked together must have equal lengths: {told}", None, tuple(group))


def _as_list(value: Any) -> str:
    """The list that was meant, as TOML: of `1,2` two whole numbers."""
    if not isinstance(value, str):
        return f"[{quote(value)}]"
    parts = [part.strip(" '\"") for part in value.strip("[] ").split(",")]
    return f"[{', '.join(part if _BARE.fullmatch(part) else quote(part) for part in parts)}]"


def _list_faults(name: str, field: str, values: Any) -> Iterator[Problem]:
    missing = why_no_field(field)
    if missing is not None:
        what, hint = missing
        yield Problem(name, what.replace("no such field", "no such field to sweep"), hint, (field,))
    elif not isinstance(values, list):
        yield Problem(name, f"must be a list of values, not {quote(values)}", _as_list(values), (field,))
    elif not values:
        yield Problem(name, "the list of values is empty", "take it out, or give it a value", (field,))
    else:
        wrong = list(_value_faults(name, field, values))
        yield from wrong
        if not wrong and field.endswith(".kind") and len(set(values)) > 1:
            what = "kinds cannot be swept: each has fields of its own"
            yield Problem(name, what, "one experiment for each", (field,))


def _value_faults(name: str, field: str, values: list[Any]) -> Iterator[Problem]:
    first: dict[str, int] = {}
    wrong = 0
    for number, value in enumerate(values, start=1):
        try:
            resolved = repr(resolve_value(field, value))
        except ValueError as error:
            what, hint = error.args
        else:
            # Lists that are walked together may well repeat a value.
            if name.startswith("zip") or first.setdefault(resolved, number) == number:
                continue
            what = f"{quote(value)} is the same as value {first[resolved]}"
            hint = "to measure a cell several times use repeat"
        wrong += 1
        if wrong <= _MOST_TOLD:
            yield Problem(name, f"value {number} of {len(values)}: {what}", hint, (field,))
    if wrong > _MOST_TOLD:
        yield Problem(name, f"{wrong - _MOST_TOLD} more values are wrong", None, (field,))


@dataclass(frozen=True)
class PlannedCell:
    """One cell: `set` is what is swept, as the user wrote it; `experiment` has it applied and sweeps nothing."""

    index: int
    repeat: int
    set: dict[str, Any]
    seed: int
    experiment: Experiment


def count_cells(experiment: Experiment) -> int:
    """Cells of an experiment, repeats included; nothing is built, so 10^9 of them are counted at once."""
    return experiment.sweep.positions * experiment.repeat


def cell_at(experiment: Experiment, index: int) -> PlannedCell:
    """One cell by its number. Raises UserError where values that are valid alone do not go together."""
    repeat, position = divmod(index, experiment.sweep.positions)
    if not 0 <= repeat < experiment.repeat:
        raise IndexError(f"cell {index} of {count_cells(experiment)}")
    values = experiment.sweep.values_at(position)
    return PlannedCell(index, repeat, values, cell_seed(experiment.seed, index), experiment.cell(values))


def iter_cells(experiment: Experiment) -> Iterator[PlannedCell]:
    """Every cell in the order of its number, each built when it is asked for."""
    return (cell_at(experiment, index) for index in range(count_cells(experiment)))


def run_order(experiment: Experiment) -> list[int]:
    """The numbers of the cells in the order to run them.

    One repeat runs in the file's order. Several run one whole repeat after another, each shuffled by the seed: what
    drifts during the run (temperature, wear, neighbours) then falls on every setting alike.
    """
    total = count_cells(experiment)
    if total > MAX_ORDERED_CELLS:
        raise UserError(
            f"{total:,} cells are more than can be run (at most {MAX_ORDERED_CELLS:,})", hint="sweep fewer values"
        )
    if experiment.repeat == 1:
        return list(range(total))
    shuffler = random.Random(experiment.seed)
    positions = experiment.sweep.positions
    order: list[int] = []
    for repeat in range(experiment.repeat):
        whole = list(range(repeat * positions, (repeat + 1) * positions))
        shuffler.shuffle(whole)
        order += whole
    return order


def cell_seed(seed: int, index: int) -> int:
    """The seed of a cell: depends on nothing but the experiment's seed and the cell's number.

    53 bits, so that it survives programs that read JSON numbers as doubles.
    """
    digest = hashlib.sha256(f"flatwater:{seed}:{index}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 11
