"""The kinds of transaction separately, for a workload with several."""

from __future__ import annotations

from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.strips import counted_by_kind, strips, timed_by_kind
from flatwater.report.figure import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    Figure,
)
from flatwater.report.recorded import Recorded

#: TPC-C's five kinds, in the order of TPC-C's specification (revision 5.11, clause 2).
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
    """Strips of rate and latency for each kind of transaction. Nothing is drawn for one kind alone."""

    name = "transactions"
    order = 121
    description = "The kinds of transaction separately: their number, and the time that 95 % of them took at most."
    coarse: ClassVar = (
        *(f"workload.{kind}_ops_per_s" for kind in COLOURS),
        *(f"workload.{kind}_latency_p95_us" for kind in COLOURS),
    )

    def draw(self, recorded: Recorded) -> list[Figure]:
        kinds = [kind for kind in COLOURS if recorded.top(f"workload.{kind}_ops_per_s") > 0]
        if len(kinds) < 2:
            return []
        looks = {kind: (NAMES[kind], COLOURS[kind]) for kind in kinds}
        panels = [counted_by_kind(recorded, looks, "transactions/s", 1.4), *timed_by_kind(recorded, looks, 1.4)]
        return [strips(recorded, self.name, "Kinds of transaction", self.description, panels)]
