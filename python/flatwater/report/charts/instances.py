"""Several servers on one machine: the throughput and the checkpoint age of each."""

from __future__ import annotations

from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.strips import strips
from flatwater.report.figure import (
    BLUE,
    COLOURS,
    Figure,
    Json,
    Panel,
    line,
    linear_axis,
)
from flatwater.report.recorded import Recorded
from flatwater.report.units import binary_scale, plain

#: The highest value of `database.instances`.
INSTANCES_MAX = 64


def each(layer: str, metric: str) -> tuple[str, ...]:
    """The names of a series that every instance has."""
    return tuple(f"{layer}.instance{number}_{metric}" for number in range(INSTANCES_MAX))


THROUGHPUT = each("workload", "throughput")
AGE = each("database", "checkpoint_age_bytes")


class Instances(CellChart):
    """A line for each database server of a cell that runs several; nothing is drawn for one server."""

    name = "instances"
    order = 105
    description = "Each server separately: whether they flush in turns or all at the same time."
    coarse: ClassVar = (*THROUGHPUT, *AGE)

    def draw(self, recorded: Recorded) -> list[Figure]:
        panels = []
        unit = plain(recorded.unit)
        if (top := _shared(recorded, THROUGHPUT)) is not None:
            data = _lines(recorded, THROUGHPUT, unit, 1.0)
            panels.append(Panel(data, linear_axis(f"throughput, {unit}" if unit else "throughput", top), 1.6))
        if (top := _shared(recorded, AGE)) is not None:
            scale = binary_scale(top)
            data = _lines(recorded, AGE, scale.unit, scale.factor)
            if panels:
                data = [trace | {"showlegend": False} for trace in data]
            panels.append(Panel(data, linear_axis(f"age, {scale.unit}", top * scale.factor), 1.6))
        if not panels:
            return []
        return [strips(recorded, self.name, "Each server", self.description, panels)]


def _shared(recorded: Recorded, group: tuple[str, ...]) -> float | None:
    """The highest sample of a series of at least two instances; None for fewer, because one instance is the whole."""
    found = [series for series in group if series in recorded]
    return recorded.top(*found) if len(found) > 1 else None


def _lines(recorded: Recorded, group: tuple[str, ...], unit: str, factor: float) -> list[Json]:
    found = [(number, series) for number, series in enumerate(group) if series in recorded]
    # With more lines than colours, lines of one colour would look related.
    many = len(found) > len(COLOURS)
    drawn = []
    for place, (number, series) in enumerate(found):
        colour = BLUE if many else COLOURS[place]
        look: Json = {"line": {"color": colour, "width": 0.8}, "legendgroup": str(number)}
        if many:
            look |= {"opacity": 0.6, "showlegend": False}
        drawn.append(line(f"server {number}", series, colour, unit, factor, **look))
    return drawn
