"""A strip for every series that no other chart draws: the series of a new database, cache or device model."""

from __future__ import annotations

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.strips import strips
from flatwater.report.figure import (
    COLOURS,
    Figure,
    Panel,
    latency_axis,
    latency_line,
    line,
    linear_axis,
    percent_axis,
)
from flatwater.report.recorded import Recorded
from flatwater.report.units import binary_scale, plain

#: The most strips of one layer: a folder from another source may have any number of series.
STRIPS_MAX = 24


class Others(CellChart):
    """One figure a layer, with a strip for each series that no other chart draws. Its suffix tells the unit."""

    name = "others"
    order = 200
    description = "Everything else that this layer reported."

    def draw(self, recorded: Recorded) -> list[Figure]:
        layers: dict[str, list[str]] = {}
        for series in recorded.unclaimed:
            layers.setdefault(series.split(".", 1)[0], []).append(series)
        return [self._layer(recorded, place, layer, found) for place, (layer, found) in enumerate(layers.items())]

    def _layer(self, recorded: Recorded, place: int, layer: str, found: list[str]) -> Figure:
        shown = found[:STRIPS_MAX]
        panels = [_strip(recorded, series, COLOURS[i % len(COLOURS)]) for i, series in enumerate(shown)]
        left = f" ({len(found) - len(shown)} more are in the result and not drawn.)" if len(found) > len(shown) else ""
        # The layer's name may come from another source, so it is not used as a file name.
        key = self.name if place == 0 else f"{self.name}-{place + 1}"
        return strips(recorded, key, f"More of the {layer}", self.description + left, panels)


def _strip(recorded: Recorded, series: str, colour: str) -> Panel:
    metric = series.split(".", 1)[-1]
    name, top = plain(metric), recorded.top(series)
    if metric.endswith("_bytes"):
        scale = binary_scale(top)
        data = line(name, series, colour, scale.unit, scale.factor)
        return Panel([data], linear_axis(scale.unit, top * scale.factor))
    if metric.endswith("_us") and recorded.bottom(series) > 0:
        return Panel([latency_line(name, series, colour)], latency_axis("", recorded.bottom(series), top))
    if metric.endswith("_pct") and top <= 100:
        return Panel([line(name, series, colour, "%")], percent_axis("%"))
    unit = {"ratio": "ratio", "per_s": "per second", "s": "s", "us": "µs"}.get(_suffix(metric), "")
    axis = linear_axis(unit, top)
    if recorded.bottom(series) < 0:
        axis["range"] = [recorded.bottom(series) * 1.06, max(top, 0.0) * 1.06]
    return Panel([line(name, series, colour, unit)], axis)


def _suffix(metric: str) -> str:
    return "per_s" if metric.endswith("_per_s") else metric.rsplit("_", 1)[-1]
