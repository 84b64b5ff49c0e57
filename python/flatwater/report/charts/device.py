"""The device under the file, second by second."""

from __future__ import annotations

from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.strips import strips
from flatwater.report.figure import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    Figure,
    Panel,
    latency_axis,
    latency_line,
    line,
    linear_axis,
    percent_axis,
)
from flatwater.report.recorded import Recorded

UTILISATION, DEPTH = "storage.utilisation_pct", "storage.queue_depth"
AWAITS = {"storage.read_await_us": ("read await", BLUE), "storage.write_await_us": ("write await", ORANGE)}


class Device(CellChart):
    """Strips of what the kernel counted for a real block device; a modelled device has none of these."""

    name = "device"
    order = 130
    description = "The kernel's figures of the device: share of time it was busy, time a request took, requests queued."
    coarse: ClassVar = (UTILISATION, DEPTH, *AWAITS)

    def draw(self, recorded: Recorded) -> list[Figure]:
        if recorded.modelled_storage:
            return []  # no kernel says anything of it, and a model's utilisation is that of its pages
        panels = []
        if UTILISATION in recorded:
            panels.append(Panel([line("utilisation", UTILISATION, GREEN, "%")], percent_axis("busy, %")))
        waits = [series for series in AWAITS if series in recorded and recorded.top(series) > 0]
        if waits:
            data = [latency_line(AWAITS[series][0], series, AWAITS[series][1]) for series in waits]
            # A second without a request waits 0, and a logarithmic axis has no zero.
            panels.append(Panel(data, latency_axis("await", recorded.bottom_positive(*waits), recorded.top(*waits))))
        if DEPTH in recorded:
            panels.append(
                Panel([line("queue depth", DEPTH, PURPLE, "requests")], linear_axis("queued", recorded.top(DEPTH)))
            )
        if not panels:
            return []
        return [strips(recorded, self.name, "Device", self.description, panels)]
