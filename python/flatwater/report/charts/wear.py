"""The wear of a modelled flash device, as its SMART gauges would report it."""

from __future__ import annotations

from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.strips import counted_panel, percent_panel, strips
from flatwater.report.figure import BLUE, GREEN, ORANGE, RED, Figure
from flatwater.report.recorded import Recorded

GAUGES = {
    "storage.media_wearout": ("media wearout (100 new, 1 worn out)", BLUE),
    "storage.available_reserve_pct": ("available reserve", GREEN),
}
ERASED = {
    "storage.erase_count_max": ("erases of a block, most", ORANGE),
    "storage.erase_count_mean": ("mean", BLUE),
}
BAD = {"storage.bad_blocks": ("bad blocks", RED)}


class Wear(CellChart):
    """Strips of the gauges that only a modelled flash device reports: wearout, erases, bad blocks."""

    name = "wear"
    order = 132
    description = "The gauges of a drive's wear, how often its blocks were erased, and the blocks that failed."
    coarse: ClassVar = (*GAUGES, *ERASED, *BAD)

    def draw(self, recorded: Recorded) -> list[Figure]:
        panels = [
            *percent_panel(recorded, GAUGES, "gauge"),
            *counted_panel(recorded, ERASED, "erases"),
            *counted_panel(recorded, BAD, "blocks"),
        ]
        if not panels:
            return []
        return [strips(recorded, self.name, "Wear (modelled)", self.description, panels)]
