"""Reads and writes apart, where a workload does both."""

from __future__ import annotations

from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.marks import timeline
from flatwater.report.figure import (
    BLUE,
    GREEN,
    ORANGE,
    Figure,
    Panel,
    latency_axis,
    latency_line,
    line,
    linear_axis,
    panels_height,
    stacked_panels,
)
from flatwater.report.recorded import Recorded
from flatwater.report.units import binary_scale

COLOURS = {"read": BLUE, "write": ORANGE, "fsync": GREEN}


class Kinds(CellChart):
    name = "kinds"
    order = 120
    description = "Reads, writes and fsyncs apart: how many, how much, and how long 95 % of them took."
    coarse: ClassVar = (
        *(f"workload.{kind}_ops_per_s" for kind in COLOURS),
        *(f"workload.{kind}_bytes_per_s" for kind in ("read", "write")),
        *(f"workload.{kind}_latency_p95_us" for kind in COLOURS),
    )

    def draw(self, recorded: Recorded) -> list[Figure]:
        kinds = [kind for kind in COLOURS if recorded.top(f"workload.{kind}_ops_per_s") > 0]
        if len(kinds) < 2:
            return []
        counted = {kind: f"workload.{kind}_ops_per_s" for kind in kinds}
        panels = [
            Panel(
                [line(kind, series, COLOURS[kind], "/s", legendgroup=kind) for kind, series in counted.items()],
                linear_axis("operations/s", recorded.top(*counted.values())),
            )
        ]
        moved = {kind: f"workload.{kind}_bytes_per_s" for kind in kinds if f"workload.{kind}_bytes_per_s" in recorded}
        if moved:
            scale = binary_scale(recorded.top(*moved.values()))
            panels.append(
                Panel(
                    [
                        line(kind, series, COLOURS[kind], f"{scale.unit}/s", scale.factor, **_silent(kind))
                        for kind, series in moved.items()
                    ],
                    linear_axis(f"{scale.unit}/s", recorded.top(*moved.values()) * scale.factor),
                )
            )
        timed = {kind: f"workload.{kind}_latency_p95_us" for kind in kinds}
        timed = {kind: series for kind, series in timed.items() if series in recorded}
        if timed:
            panels.append(
                Panel(
                    [latency_line(kind, series, COLOURS[kind], **_silent(kind)) for kind, series in timed.items()],
                    latency_axis(
                        "p95 latency", recorded.bottom_positive(*timed.values()), recorded.top(*timed.values())
                    ),
                )
            )
        data, layout = stacked_panels(panels)
        layout = timeline(recorded, layout)
        return [
            Figure(self.name, "Reads and writes", self.description, data, layout, panels_height(panels), linked=True)
        ]


def _silent(kind: str) -> dict[str, object]:
    return {"legendgroup": kind, "showlegend": False}
