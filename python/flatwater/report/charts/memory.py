"""Memory, and the time in which tasks waited (the kernel's pressure figures)."""

from __future__ import annotations

from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.strips import strips
from flatwater.report.figure import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    Figure,
    Panel,
    line,
    linear_axis,
)
from flatwater.report.recorded import Recorded
from flatwater.report.units import binary_scale

# Data that wait to be written are a small part of the memory, so they have their own strip.
MEMORY = (
    {
        "machine.memory_available_bytes": ("available", GREEN),
        "machine.memory_cached_bytes": ("page cache", BLUE),
        "database.server_rss_bytes": ("database server", SKY),
    },
    {"machine.memory_dirty_bytes": ("dirty", ORANGE), "machine.memory_writeback_bytes": ("writeback", PURPLE)},
)
PRESSURE = {
    "machine.pressure_cpu_some_pct": ("cpu: some wait", BLUE),
    "machine.pressure_io_some_pct": ("io: some wait", SKY),
    "machine.pressure_io_full_pct": ("io: all wait", ORANGE),
    "machine.pressure_memory_some_pct": ("memory: some wait", PURPLE),
    "machine.pressure_memory_full_pct": ("memory: all wait", RED),
}


class Memory(CellChart):
    """Strips of the machine's memory in bytes, and of the kernel's pressure figures in percent of the time."""

    name = "memory"
    order = 150
    description = "Memory of the machine, and the share of time in which tasks waited for processor, IO or memory."
    coarse: ClassVar = (*MEMORY[0], *MEMORY[1], *PRESSURE)

    def draw(self, recorded: Recorded) -> list[Figure]:
        panels = [panel for group in MEMORY for panel in _bytes(recorded, group)]
        # Memory pressure is nearly always zero, and a flat line at the bottom carries no information, so it is left
        # out.
        pressure = [one for one in PRESSURE if one in recorded and ("memory" not in one or recorded.top(one) > 0)]
        if pressure:
            data = [line(PRESSURE[one][0], one, PRESSURE[one][1], "%") for one in pressure]
            panels.append(Panel(data, linear_axis("pressure, %", recorded.top(*pressure))))
        if not panels:
            return []
        return [strips(recorded, self.name, "Memory and pressure", self.description, panels)]


def _bytes(recorded: Recorded, group: dict[str, tuple[str, str]]) -> list[Panel]:
    found = [series for series in group if series in recorded]
    if not found:
        return []
    top = recorded.top(*found)
    scale = binary_scale(top)
    data = [line(group[series][0], series, group[series][1], scale.unit, scale.factor) for series in found]
    return [Panel(data, linear_axis(scale.unit, top * scale.factor))]
