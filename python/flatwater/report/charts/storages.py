"""The storage of the data beside the other storages of a server, which parts of it were placed on."""

from __future__ import annotations

import re
from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.strips import strips
from flatwater.report.figure import COLOURS, Figure, Json, Panel, latency_axis, latency_line, line, percent_axis
from flatwater.report.recorded import Recorded

BUSY, AWAIT = "utilisation_pct", "write_await_us"
#: The entry of an other storage among the layers of a summary, with its name (experiment/database/placed.py).
_OTHER = re.compile(r"storage ([a-z][a-z0-9]*)")


class Storages(CellChart):
    """A line for each storage of a cell that has several; nothing is drawn for one storage."""

    name = "storages"
    order = 129
    description = "Each storage: the share of time it was busy, and the time that a write took."
    coarse: ClassVar = (f"storage.{BUSY}", f"storage.{AWAIT}")

    def draw(self, recorded: Recorded) -> list[Figure]:
        layers = recorded.cell.summary.layers if recorded.cell.summary is not None else {}
        names = sorted(found[1] for layer in layers if (found := _OTHER.fullmatch(layer)))
        if not names:
            return []
        prefixes = {"data": "storage.", **{name: f"storage.{name}_" for name in names}}
        panels = []
        if busy := _lines(recorded, prefixes, BUSY):
            panels.append(Panel(busy, percent_axis("busy, %"), 1.4))
        waits = [series for prefix in prefixes.values() if _is_drawn(recorded, series := prefix + AWAIT)]
        if waits:
            data = _lines(recorded, prefixes, AWAIT)
            if panels:
                data = [trace | {"showlegend": False} for trace in data]
            panels.append(
                Panel(data, latency_axis("write await", recorded.bottom_positive(*waits), recorded.top(*waits)), 1.4)
            )
        return [strips(recorded, self.name, "Each storage", self.description, panels)] if panels else []


def _is_drawn(recorded: Recorded, series: str) -> bool:
    return series in recorded and (series.endswith(BUSY) or recorded.top(series) > 0)


def _lines(recorded: Recorded, prefixes: dict[str, str], metric: str) -> list[Json]:
    drawn = []
    for place, (name, prefix) in enumerate(prefixes.items()):
        series, colour = prefix + metric, COLOURS[place % len(COLOURS)]
        if not _is_drawn(recorded, series):
            continue
        one = line(name, series, colour, "%") if metric == BUSY else latency_line(name, series, colour)
        drawn.append(one | {"legendgroup": name})
    return drawn
