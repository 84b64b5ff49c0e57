"""The cells of a sweep as lines: the field of the x axis, the fields of the lines, and the place of each cell."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from flatwater.experiment.units import parse_size
from flatwater.report.units import binary_bytes, number
from flatwater.results import Cell, Result
from flatwater.results.schema import FieldValues

#: From this ratio of the largest to the smallest on, numbers are drawn on a logarithmic axis.
LOG_RATIO = 16
#: If there are more distinct values than this, plotly chooses the labels.
LABELS_MAX = 16


@dataclass(frozen=True)
class Point:
    """One value of the x field on one line: the cells measured there (several when repeated)."""

    x: Any
    cells: list[Cell]


@dataclass(frozen=True)
class Swept:
    """A sweep ready to draw: `lines` by label, each along `field`."""

    field: str
    lines: dict[str, list[Point]]
    #: The distinct x values in their order, and their positions: numbers, or None if they are categories.
    values: list[Any]
    positions: list[float] | None

    @property
    def logarithmic(self) -> bool:
        """Whether the numbers are powers of two, or have a range so wide that a linear axis would crowd the small
        values.
        """
        found = self.positions
        if found is None or len(found) < 3 or min(found) <= 0:
            return False
        powers = all(value >= 1 and math.log2(value).is_integer() for value in found)
        return powers or max(found) / min(found) >= LOG_RATIO

    def position(self, value: Any) -> float | str:
        """Where a value of the field is on the x axis: a number, or the name of its category.

        Errors: ValueError for a value that no cell has.
        """
        place = [_key(one) for one in self.values].index(_key(value))
        return shown(self.field, value) if self.positions is None else self.positions[place]


def arrange(result: Result) -> Swept | None:
    """The sweep as in `[report]` of the experiment, otherwise along the first swept field; None if nothing is swept."""
    fields: list[str] = list(dict.fromkeys(name for cell in result.cells for name in cell.set))
    if not fields:
        return None
    asked = result.experiment.get("report")
    along, series = (asked.get("x"), asked.get("series")) if isinstance(asked, dict) else (None, None)
    if along not in fields:
        along = next((name for name in fields if name != series), fields[0])
    others = [name for name in fields if name != along and not _follows(result, along, name)]
    others.sort(key=lambda name: name != series)
    lines: dict[str, dict[str, list[Cell]]] = {}
    values: FieldValues = {}
    for cell in result.cells:
        if along not in cell.set:
            continue
        label = ", ".join(f"{name.split('.')[-1]} {shown(name, cell.set[name])}" for name in others if name in cell.set)
        key = _key(cell.set[along])
        values[key] = cell.set[along]
        lines.setdefault(label, {}).setdefault(key, []).append(cell)
    numbers = [as_number(value) for value in values.values()]
    positions = [value for value in numbers if value is not None]
    ordered = list(values.values())
    if len(positions) == len(ordered) and len(set(positions)) == len(positions):
        order = sorted(range(len(ordered)), key=positions.__getitem__)
        ordered, places = [ordered[i] for i in order], sorted(positions)
    else:
        places = None
    rank = {_key(value): place for place, value in enumerate(ordered)}
    return Swept(
        field=along,
        lines={
            label: [Point(values[key], at[key]) for key in sorted(at, key=rank.__getitem__)]
            for label, at in lines.items()
        },
        values=ordered,
        positions=places,
    )


def _follows(result: Result, along: str, name: str) -> bool:
    """Whether `name` changes together with `along` (a zipped list): it then makes no lines."""
    seen: dict[str, str] = {}
    for cell in result.cells:
        if along in cell.set and name in cell.set:
            value = _key(cell.set[name])
            if seen.setdefault(_key(cell.set[along]), value) != value:
                return False
    return True


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def as_number(value: Any) -> float | None:
    """A number, or a size such as 16KiB in bytes; None for any other value."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    return None if (size := _size(value)) is None else float(size)


def _size(value: Any) -> int | None:
    """The bytes of a size in any spelling of an experiment file; None if it is not a size."""
    try:
        return parse_size(value)
    except ValueError:
        return None


def shown(name: str, value: Any) -> str:
    """A swept value as text; sizes in binary units, whatever their spelling in the file."""
    if name.endswith(("size", "_bytes")) and (size := _size(value)) is not None:
        return binary_bytes(size)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value if isinstance(value, str) else json.dumps(value, default=str)
    return number(value, 6)


def label(cell: Cell) -> str:
    """The swept values of a cell in a few words: like `Cell.label`, with values as in the tables and axes."""
    text = cell.given_name or ", ".join(
        f"{name.split('.')[-1]} {shown(name, value)}" for name, value in cell.set.items()
    )
    return (text or cell.result.name) + (f" (repeat {cell.plan.repeat + 1})" if cell.plan.repeat else "")
