"""The kinds of transaction apart, where a workload has several."""

from __future__ import annotations

from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.marks import timeline
from flatwater.report.figure import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    Figure,
    Panel,
    latency_axis,
    latency_line,
    line,
    linear_axis,
    panels_height,
    stacked_panels,
)
from flatwater.report.recorded import Recorded

#: TPC-C's five kinds, as TPC-C's specification (revision 5.11, clause 2) orders them.
COLOURS = {"new_order": BLUE, "payment": ORANGE, "order_status": GREEN, "delivery": RED, "stock_level": PURPLE}
NAMES = {
    "new_order": "New-Order",
    "payment": "Payment",
    "order_status": "Order-Status",
    "delivery": "Delivery",
    "stock_level": "Stock-Level",
    "transaction": "transaction",
}


class Transactions(CellChart):
    name = "transactions"
    order = 121
    description = "The kinds of transaction apart: how many, and how long 95 % of them took."
    coarse: ClassVar = (
        *(f"workload.{kind}_ops_per_s" for kind in COLOURS),
        *(f"workload.{kind}_latency_p95_us" for kind in COLOURS),
    )

    def draw(self, recorded: Recorded) -> list[Figure]:
        kinds = [kind for kind in COLOURS if recorded.top(f"workload.{kind}_ops_per_s") > 0]
        if len(kinds) < 2:
            return []
        counted = {kind: f"workload.{kind}_ops_per_s" for kind in kinds}
        data = [line(NAMES[kind], series, COLOURS[kind], "/s", legendgroup=kind) for kind, series in counted.items()]
        panels = [Panel(data, linear_axis("transactions/s", recorded.top(*counted.values())), 1.4)]
        timed = {kind: f"workload.{kind}_latency_p95_us" for kind in kinds}
        timed = {kind: series for kind, series in timed.items() if series in recorded}
        if timed:
            silent = {"showlegend": False}
            data = [
                latency_line(NAMES[kind], series, COLOURS[kind], legendgroup=kind, **silent)
                for kind, series in timed.items()
            ]
            low, high = recorded.bottom_positive(*timed.values()), recorded.top(*timed.values())
            panels.append(Panel(data, latency_axis("p95 latency", low, high), 1.4))
        data, layout = stacked_panels(panels)
        layout = timeline(recorded, layout)
        return [
            Figure(
                self.name, "Kinds of transaction", self.description, data, layout, panels_height(panels), linked=True
            )
        ]
