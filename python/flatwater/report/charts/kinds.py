"""Reads and writes separately, for a workload that does both."""

from __future__ import annotations

from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.strips import counted_by_kind, silent, strips, timed_by_kind
from flatwater.report.figure import (
    BLUE,
    GREEN,
    ORANGE,
    Figure,
    Panel,
    line,
    linear_axis,
)
from flatwater.report.recorded import Recorded
from flatwater.report.units import binary_scale

COLOURS = {"read": BLUE, "write": ORANGE, "fsync": GREEN}


class Kinds(CellChart):
    """Strips of operations, bytes and latency by kind of request. Nothing is drawn for one kind alone."""

    name = "kinds"
    order = 120
    description = (
        "Reads, writes and fsyncs separately: their number, their bytes, and the time that 95 % of them took at most."
    )
    coarse: ClassVar = (
        *(f"workload.{kind}_ops_per_s" for kind in COLOURS),
        *(f"workload.{kind}_bytes_per_s" for kind in ("read", "write")),
        *(f"workload.{kind}_latency_p95_us" for kind in COLOURS),
    )

    def draw(self, recorded: Recorded) -> list[Figure]:
        kinds = [kind for kind in COLOURS if recorded.top(f"workload.{kind}_ops_per_s") > 0]
        if len(kinds) < 2:
            return []
        looks = {kind: (kind, COLOURS[kind]) for kind in kinds}
        panels = [counted_by_kind(recorded, looks, "operations/s")]
        moved = {kind: f"workload.{kind}_bytes_per_s" for kind in kinds if f"workload.{kind}_bytes_per_s" in recorded}
        if moved:
            scale = binary_scale(recorded.top(*moved.values()))
            panels.append(
                Panel(
                    [
                        line(kind, series, COLOURS[kind], f"{scale.unit}/s", scale.factor, **silent(kind))
                        for kind, series in moved.items()
                    ],
                    linear_axis(f"{scale.unit}/s", recorded.top(*moved.values()) * scale.factor),
                )
            )
        panels += timed_by_kind(recorded, looks)
        return [strips(recorded, self.name, "Reads and writes", self.description, panels)]
