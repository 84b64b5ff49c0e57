"""The laboratory's picture of a database: throughput, checkpoint age and dirty pages, one above the other."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.strips import strips
from flatwater.report.charts.throughput import STATE, Throughput, throughput_panel
from flatwater.report.figure import (
    BLUE,
    GREEN,
    RED,
    Figure,
    Panel,
    line,
    linear_axis,
    percent_axis,
)
from flatwater.report.recorded import Recorded
from flatwater.report.units import binary_bytes, binary_scale

AGE, DIRTY = STATE
LIMIT = "database.checkpoint_age_max_bytes"
#: If the limit is this many times higher than the highest age, the legend names it: a line would flatten the age.
LIMIT_FAR = 8.0
#: Dirty pages that stay under this share have an axis that fits them.
DIRTY_LITTLE_PCT = 40.0


class Database(CellChart):
    """Three strips on one time axis, for a database that records a checkpoint age or dirty pages.

    It takes the place of the chart of throughput.
    """

    name = "database"
    order = 101
    description = (
        "Throughput of every interval, the checkpoint age (with the limit that the server does not let it exceed), and "
        "the dirty share of the buffer pool: 100 x dirty / (1 + data + free). Shaded: not measured. Marked: dips and "
        "stalls."
    )
    fine: ClassVar = (Throughput.fine[0], AGE, LIMIT, DIRTY)

    def draw(self, recorded: Recorded) -> list[Figure]:
        if not any(series in recorded for series in STATE):
            return []
        panels = []
        if Throughput.fine[0] in recorded:
            panels.append(replace(throughput_panel(recorded), share=2.4))
        if AGE in recorded:
            panels.append(age_panel(recorded))
        if DIRTY in recorded:
            top = recorded.top(DIRTY)
            axis = percent_axis("dirty, %") if top > DIRTY_LITTLE_PCT else linear_axis("dirty, %", top)
            panels.append(Panel([line("dirty pages", DIRTY, GREEN, "%")], axis, 1.2))
        title = "Throughput, checkpoint age and dirty pages"
        return [strips(recorded, self.name, title, self.description, panels, labels=True)]


def age_panel(recorded: Recorded) -> Panel:
    """The checkpoint age with its limit."""
    age, limit = recorded.top(AGE), recorded.top(LIMIT)
    far = limit > LIMIT_FAR * age
    top = age if far else max(age, limit)
    scale = binary_scale(top)
    data = [line("checkpoint age", AGE, BLUE, scale.unit, scale.factor)]
    if LIMIT in recorded:
        name = f"its limit, {binary_bytes(limit)}" + (": above this axis" if far else "")
        stroke = {"color": RED, "width": 1.4, "dash": "dash"}
        data.append(line(name, LIMIT, RED, scale.unit, scale.factor, line=stroke))
    return Panel(data, linear_axis(f"age, {scale.unit}", top * scale.factor), 1.2)
