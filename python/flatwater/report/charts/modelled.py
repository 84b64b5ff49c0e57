"""Other modelled devices: disks, appliances of memory, network volumes."""

from __future__ import annotations

from typing import ClassVar

from flatwater.report.charts.array import WORKING
from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.flash import AMPLIFICATION, FREE
from flatwater.report.charts.strips import bytes_panel, counted_panel, percent_panel, strips
from flatwater.report.figure import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    Figure,
    Panel,
    latency_axis,
    latency_line,
)
from flatwater.report.recorded import Recorded

BUSY = {"storage.busy_pct": ("busy", GREEN), "storage.link_busy_pct": ("link busy", SKY)}
SEEK = "storage.seek_mean_us"
QUEUE = {"storage.queue_depth": ("queue depth", PURPLE)}
DIRTY = {"storage.cache_dirty_bytes": ("dirty in the cache", ORANGE)}
CREDITS = {"storage.credits": ("burst credits left", BLUE)}
#: For a device that is served in real time: the time from the model's end to the answer.
LAG = {"storage.lag_p50_us": ("p50", BLUE), "storage.lag_p95_us": ("p95", SKY), "storage.lag_p99_us": ("p99", GREEN)}
LATE = {"storage.lag_late_pct": ("answers too late", RED)}


class Modelled(CellChart):
    """Strips for a modelled device that is neither flash nor an array, and the lag of one served in real time."""

    name = "modelled"
    order = 134
    description = "The modelled device's own figures: how busy it is, how many requests it has. Not measured."
    coarse: ClassVar = (*BUSY, SEEK, *QUEUE, *DIRTY, *CREDITS, *LAG, *LATE)

    def draw(self, recorded: Recorded) -> list[Figure]:
        if not recorded.modelled_storage:
            return []
        # A flash device and an array have their own charts, which contain these series.
        flash = any(one in recorded for one in (AMPLIFICATION, *FREE))
        panels = [] if flash else percent_panel(recorded, BUSY, "busy, %")
        if SEEK in recorded and recorded.top(SEEK) > 0:
            axis = latency_axis("seek", recorded.bottom_positive(SEEK), recorded.top(SEEK))
            panels.append(Panel([latency_line("mean seek", SEEK, BLUE)], axis))
        panels += counted_panel(recorded, QUEUE, "requests")
        if WORKING not in recorded:
            panels += bytes_panel(recorded, DIRTY)
        panels += counted_panel(recorded, CREDITS, "credits")
        panels += _lag(recorded)
        if not panels:
            return []
        return [strips(recorded, self.name, "Device (modelled)", self.description, panels)]


def _lag(recorded: Recorded) -> list[Panel]:
    """The lag of a served device behind its model, and the share of its answers that were late."""
    found = [series for series in LAG if recorded.top(series) > 0]
    if not found:
        return []
    data = [latency_line(LAG[one][0], one, LAG[one][1]) for one in found]
    axis = latency_axis("behind the model", recorded.bottom_positive(*found), recorded.top(*found))
    return [Panel(data, axis), *percent_panel(recorded, LATE, "late, %")]
