"""Finds the cells of a sweep with given values, without a search through all cells.

A file with a published figure for each of a thousand cells makes a thousand lookups. A search through all cells each
time took minutes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from flatwater.experiment.fields import resolve_value
from flatwater.experiment.kinds import ANY, Kinds
from flatwater.results.schema import FieldValues

#: One dimension of a sweep: fields -> lists of the same length.
Dimension = dict[str, list[JsonValue]]


def length(dimension: Dimension) -> int:
    """The number of steps of a dimension."""
    return len(next(iter(dimension.values())))


class Matcher:
    """The values of a sweep's dimensions, in plain units, with the steps of each value."""

    def __init__(self, dimensions: Sequence[Dimension], kinds: Kinds = ANY) -> None:
        self._lengths = [length(dimension) for dimension in dimensions]
        self._steps: list[dict[str, dict[Hashable, list[int]]]] = []
        for dimension in dimensions:
            columns: dict[str, dict[Hashable, list[int]]] = {}
            for field, values in dimension.items():
                column = columns.setdefault(field, {})
                for step, value in enumerate(values):
                    column.setdefault(_key(resolve_value(field, value, kinds)), []).append(step)
            self._steps.append(columns)

    def steps(self, number: int, wanted: FieldValues) -> Iterable[int]:
        """The steps of a dimension, in order, at which its fields have the `wanted` values (in plain units)."""
        columns = self._steps[number]
        asked = [columns[field].get(_key(value), []) for field, value in wanted.items() if field in columns]
        if not asked:
            return range(self._lengths[number])
        first, *others = sorted(asked, key=len)
        return [step for step in first if all(step in other for other in others)] if others else first

    def positions(self, wanted: FieldValues) -> list[int]:
        """The positions, in order, at which the swept fields have the `wanted` values."""
        found = [0]
        for number, length in enumerate(self._lengths):
            steps = self.steps(number, wanted)
            found = [position * length + step for position in found for step in steps]
        return found


def _key(value: Any) -> Hashable:
    """A hashable key, equal for equal values: a mixture of block sizes is a table."""
    if isinstance(value, Mapping):
        return frozenset((name, _key(one)) for name, one in value.items())
    if isinstance(value, list | tuple):
        return tuple(_key(one) for one in value)
    return value if isinstance(value, Hashable) else repr(value)
