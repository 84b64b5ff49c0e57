"""The use of the processors' time."""

from __future__ import annotations

from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.strips import strips
from flatwater.report.figure import (
    BLUE,
    GREEN,
    ORANGE,
    RED,
    SKY,
    Figure,
    Json,
    Panel,
    line,
    linear_axis,
    percent_axis,
)
from flatwater.report.recorded import Recorded

MACHINE = {
    "machine.cpu_user_pct": ("user", BLUE),
    "machine.cpu_system_pct": ("system", ORANGE),
    "machine.cpu_iowait_pct": ("iowait", SKY),
    "machine.cpu_steal_pct": ("steal", RED),
}
SERVER, OTHERS = "database.server_cpu_user_pct", "machine.others_cpu_pct"
PROCESSES = {
    "workload.client_cpu_user_pct": ("client, user", BLUE),
    "workload.client_cpu_system_pct": ("client, system", ORANGE),
    "workload.observer_cpu_pct": ("the observing", SKY),
    "workload.observer_server_cpu_pct": ("the observing, in the server", RED),
    SERVER: ("server, user", BLUE),
    "database.server_cpu_system_pct": ("server, system", ORANGE),
    OTHERS: ("others", GREEN),
}


class Cpu(CellChart):
    """Two strips of processor time: the whole machine in percent, and processes in percent of one core."""

    name = "cpu"
    order = 140
    description = (
        "Above: the whole machine, stacked. Below: the load generator itself, the database server if there is one, and "
        "all other processes, where 100 % is one core."
    )
    coarse: ClassVar = (*MACHINE, *PROCESSES)
    together: ClassVar = (tuple(MACHINE),)

    def draw(self, recorded: Recorded) -> list[Figure]:
        panels = []
        machine = [series for series in MACHINE if series in recorded]
        if machine:
            panels.append(Panel([_area(series) for series in machine], percent_axis("machine, %"), 1.2))
        processes = [series for series in PROCESSES if series in recorded]
        if processes:
            data = [_process(series, served=SERVER in recorded) for series in processes]
            panels.append(Panel(data, linear_axis("% of a core", recorded.top(*processes))))
        if not panels:
            return []
        return [strips(recorded, self.name, "Processors", self.description, panels)]


def _process(series: str, *, served: bool) -> Json:
    name, colour = PROCESSES[series]
    if series == OTHERS and served:
        # All processes except the load generator are counted together.
        name = "all but the client"
    drawn = line(name, series, colour, "% of a core")
    if name.startswith("client"):
        # The machine's colours for user and system, with a different stroke.
        drawn["line"] = {"color": colour, "width": 1.4, "dash": "dot"}
    return drawn


def _area(series: str) -> Json:
    name, colour = MACHINE[series]
    # By default plotly lets a stack fall to zero if a second is missing, which would look like an idle machine.
    stroke = {"color": colour, "width": 0.4}
    return line(name, series, colour, "%", line=stroke, stackgroup="machine", stackgaps="interpolate")
