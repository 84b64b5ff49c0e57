"""The errors, if there were any: failed requests, conflicts between transactions, lost connections."""

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

FAILED = {
    "workload.errors_per_s": ("errors", RED),
    "workload.deadlocks_per_s": ("deadlocks", ORANGE),
    "workload.lock_timeouts_per_s": ("lock timeouts", PURPLE),
    "workload.conflicts_per_s": ("conflicts", BLUE),
}
CONNECTIONS = {
    "workload.reconnects_per_s": ("reconnects", GREEN),
    "workload.connect_failures_per_s": ("failures to connect", ORANGE),
}
#: TPC-C rolls back 1 % of its New-Orders by rule, so rollbacks alone are not an error.
ROLLBACKS = {"workload.rollbacks_per_s": ("rollbacks", SKY)}


class Errors(CellChart):
    """Strips of failures per second. Nothing is drawn if no request and no connection failed."""

    name = "errors"
    order = 124
    description = "Requests that failed, transactions that were tried again, and connections that were opened again."
    coarse: ClassVar = (*FAILED, *ROLLBACKS, *CONNECTIONS)

    def draw(self, recorded: Recorded) -> list[Figure]:
        if not any(recorded.top(series) > 0 for series in (*FAILED, *CONNECTIONS)):
            return []
        panels = []
        for group in (FAILED, ROLLBACKS, CONNECTIONS):
            found = [series for series in group if recorded.top(series) > 0]
            if found:
                data = [line(group[series][0], series, group[series][1], "/s") for series in found]
                panels.append(Panel(data, linear_axis("per second", recorded.top(*found))))
        return [strips(recorded, self.name, "Errors, retries and reconnects", self.description, panels)]
