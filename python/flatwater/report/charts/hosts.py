"""A load that several hosts make: the rate of each, and the processors of each."""

from __future__ import annotations

from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.strips import strips
from flatwater.report.figure import BLUE, COLOURS, Figure, Json, Panel, line, linear_axis
from flatwater.report.recorded import Recorded

#: The highest value of `load.hosts`.
HOSTS_MAX = 64


def of_hosts(metric: str) -> tuple[str, ...]:
    """The names of a series that every load host has."""
    return tuple(f"workload.host{number}_{metric}" for number in range(HOSTS_MAX))


RATE = of_hosts("ops_per_s")
IDLE = of_hosts("machine_idle_pct")
#: Recorded for the diagnosis and for queries, and drawn in no chart.
UNDRAWN = frozenset(
    series
    for metric in (
        *("errors_per_s", "latency_p95_us", "latency_p99_us", "client_cpu_pct", "client_cpu_wait_pct"),
        *("machine_steal_pct", "machine_others_cpu_pct"),
        *("device_utilisation_pct", "device_read_await_us", "device_write_await_us"),
        *("device_read_bytes_per_s", "device_write_bytes_per_s"),
    )
    for series in of_hosts(metric)
)


class Hosts(CellChart):
    """A line for each host that made a part of the load."""

    name = "hosts"
    order = 107
    description = (
        "What each load host did, and whether its processors had time left. If one had none, that was measured."
    )
    coarse: ClassVar = (*RATE, *IDLE)

    def draw(self, recorded: Recorded) -> list[Figure]:
        panels: list[Panel] = []
        for group, title, unit, height in (
            (RATE, "each host, operations/s", "/s", 1.6),
            (IDLE, "processors idle, %", "%", 1.2),
        ):
            found = [(number, series) for number, series in enumerate(group) if series in recorded]
            if not found:
                continue
            top = 100.0 if group is IDLE else recorded.top(*(series for _, series in found))
            panels.append(Panel(_lines(recorded, found, unit, first=not panels), linear_axis(title, top), height))
        return [strips(recorded, self.name, "Each load host", self.description, panels)] if panels else []


def _lines(recorded: Recorded, found: list[tuple[int, str]], unit: str, *, first: bool) -> list[Json]:
    many = len(found) > len(COLOURS)
    names = [host.host for host in recorded.cell.summary.load_hosts] if recorded.cell.summary is not None else []
    drawn = []
    for place, (number, series) in enumerate(found):
        colour = BLUE if many else COLOURS[place]
        look: Json = {"line": {"color": colour, "width": 0.8}, "legendgroup": f"host {number}"}
        if many or not first:
            look |= {"showlegend": False}
        name = names[number] if number < len(names) else f"host {number + 1}"
        drawn.append(line(name, series, colour, unit, 1.0, **look))
    return drawn
