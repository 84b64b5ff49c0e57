"""Throughput over time."""

from __future__ import annotations

from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.marks import ROW_HEIGHT, dips_and_stalls, timeline
from flatwater.report.figure import BLUE, INK, MARGINS_HEIGHT, Figure, Json, Panel, line, linear_axis
from flatwater.report.recorded import Recorded
from flatwater.report.units import number, plain

#: Recorded for a database that flushes: `database.py` then draws the throughput with these.
STATE = ("database.checkpoint_age_bytes", "database.dirty_pct")


#: The pixels of the figure, and of the area inside its axes.
HEIGHT = 360
DRAWN_HEIGHT = HEIGHT - MARGINS_HEIGHT


class Throughput(CellChart):
    """Throughput over time, with its mean, dips, stalls and incidents. `Database` draws the cells of a database that
    flushes.
    """

    name = "throughput"
    order = 100
    description = "Throughput of every interval. Shaded: not measured. Marked: dips and stalls."
    fine: ClassVar = ("workload.throughput",)

    def draw(self, recorded: Recorded) -> list[Figure]:
        if self.fine[0] not in recorded or any(series in recorded for series in STATE):
            return []
        strip = throughput_panel(recorded)
        layout = timeline(recorded, {"yaxis": strip.yaxis, "showlegend": True}, labels=True)
        # The texts of incidents are above the line, not on it.
        low, high = layout["yaxis"]["range"]
        rows = 1 + max((-note.get("yshift", 0) // ROW_HEIGHT for note in layout["annotations"]), default=-1)
        layout["yaxis"] = {**layout["yaxis"], "range": [low, high * (1 + rows * ROW_HEIGHT / DRAWN_HEIGHT)]}
        return [Figure(self.name, "Throughput over time", self.description, strip.data, layout, HEIGHT, linked=True)]


def throughput_panel(recorded: Recorded) -> Panel:
    """The line of throughput from zero, its mean, and the bands of dips and stalls behind it."""
    series = Throughput.fine[0]
    summary = recorded.cell.summary
    unit = plain(recorded.unit)
    axis = linear_axis(f"throughput, {unit}" if unit else "throughput", recorded.top(series))
    data: list[Json] = dips_and_stalls(recorded, 0, axis["range"][1])
    data.append(line("throughput", series, BLUE, unit))
    if summary is not None and summary.mean is not None:
        start_s, end_s = recorded.cell.measured_span()
        factor = recorded.clock.factor
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": f"mean {number(summary.mean)} {unit}",
                "x": [start_s * factor, min(end_s, recorded.span_s) * factor],
                "y": [summary.mean, summary.mean],
                "line": {"color": INK, "width": 1.2, "dash": "dash"},
                "hoverinfo": "skip",
            }
        )
    return Panel(data, axis)
