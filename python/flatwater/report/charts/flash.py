"""The internals of a modelled flash device: why its writes cost more than their bytes."""

from __future__ import annotations

from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.strips import bytes_panel, counted_panel, percent_panel, strips
from flatwater.report.figure import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, Figure, Panel, line, linear_axis
from flatwater.report.recorded import Recorded

AMPLIFICATION = "storage.write_amplification"
SHARES = {
    "storage.gc_share_pct": ("writes wait for the collector", RED),
    "storage.dies_busy_pct": ("dies busy", BLUE),
    "storage.link_busy_pct": ("link busy", SKY),
}
WRITTEN = {
    "storage.host_written_bytes_per_s": ("written by the host", BLUE),
    "storage.relocated_bytes_per_s": ("moved by the collector", ORANGE),
}
FREE = {"storage.free_blocks": ("free blocks", GREEN)}
FULL = {"storage.utilisation_pct": ("valid pages", PURPLE)}
ERASED = {"storage.erases_per_s": ("erases", ORANGE), "storage.read_errors_per_s": ("read errors", RED)}
BUFFER = {"storage.buffer_bytes": ("write buffer", SKY)}


class Flash(CellChart):
    """Strips of garbage collection inside a modelled flash device, whether alone or a member of an array."""

    name = "flash"
    order = 131
    description = (
        "Flash pages programmed for each page of the host, the collector's share of the time, the bytes that it moves, "
        "and the erased blocks that are left."
    )
    coarse: ClassVar = (AMPLIFICATION, *SHARES, *WRITTEN, *FREE, *FULL, *ERASED, *BUFFER)

    def draw(self, recorded: Recorded) -> list[Figure]:
        # Only flash has erased blocks: `link_busy_pct` alone belongs to another kind of device.
        if not any(one in recorded for one in (AMPLIFICATION, *FREE)):
            return []
        modelled = recorded.modelled_storage
        panels = []
        if AMPLIFICATION in recorded:
            drawn = line("write amplification", AMPLIFICATION, ORANGE, "")
            panels.append(Panel([drawn], linear_axis("amplification", recorded.top(AMPLIFICATION)), 1.4))
        panels += [
            *percent_panel(recorded, SHARES, "% of the time"),
            *bytes_panel(recorded, WRITTEN, per_s=True),
            *counted_panel(recorded, FREE, "blocks"),
            # The kernel's utilisation is the time in which a device was busy.
            *(percent_panel(recorded, FULL, "% of the pages") if modelled else []),
            *counted_panel(recorded, ERASED, "/s"),
            *bytes_panel(recorded, BUFFER),
        ]
        return [strips(recorded, self.name, "Flash (modelled)" if modelled else "Flash", self.description, panels)]
