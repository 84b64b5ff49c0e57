"""Latency percentiles over time."""

from __future__ import annotations

from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.marks import dips_and_stalls, timeline
from flatwater.report.figure import BLUE, GREEN, ORANGE, PURPLE, SKY, Figure, Json, latency_axis, latency_line
from flatwater.report.recorded import Recorded

PERCENTILES = {
    "workload.latency_max_us": ("max", PURPLE),
    "workload.latency_p999_us": ("p99.9", ORANGE),
    "workload.latency_p99_us": ("p99", GREEN),
    "workload.latency_p95_us": ("p95", SKY),
    "workload.latency_p50_us": ("p50", BLUE),
}


class Latency(CellChart):
    """Five latency percentiles of each interval, over time, with the stalls marked."""

    name = "latency"
    order = 110
    description = (
        "Latency percentiles of every interval, logarithmic. A second in which nothing finished shows the age of the "
        "oldest request that was waiting."
    )
    fine: ClassVar = tuple(PERCENTILES)

    def draw(self, recorded: Recorded) -> list[Figure]:
        found = [series for series in PERCENTILES if series in recorded]
        if not found:
            return []
        axis = latency_axis("latency", recorded.bottom_positive(*found), recorded.top(*found))
        low, high = (10.0**end for end in axis["range"])
        data = [mark for mark in dips_and_stalls(recorded, low, high) if mark["name"] == "stall"]
        data += [_line(series) for series in found]
        layout = timeline(recorded, {"yaxis": axis, "showlegend": True})
        return [Figure(self.name, "Latency over time", self.description, data, layout, 340, linked=True)]


def _line(series: str) -> Json:
    name, colour = PERCENTILES[series]
    # In an interval with few operations p99.9 is the maximum. The maximum is wider, so that both are seen.
    return latency_line(name, series, colour, line={"color": colour, "width": 3.2 if name == "max" else 1.2})
