"""95th percentile of latency against the swept field."""

from __future__ import annotations

from flatwater.report.charts import sweep_dots, sweep_lines
from flatwater.report.charts.chart import SweepChart
from flatwater.report.charts.sweep_lines import Judged
from flatwater.report.figure import Figure, latency_axis
from flatwater.report.swept import Swept
from flatwater.results import CellSummary, Published, Result

#: Microseconds in each unit of published latencies.
UNITS = {"us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6, "ns": 1e-3}


class SweepLatency(SweepChart):
    """The p95 of each cell against the swept field, with the published latencies beside it."""

    name = "sweep-p95"
    order = 20
    description = "95 % of the measured phase's requests or transactions took no longer than this; logarithmic."

    def draw(self, result: Result, swept: Swept) -> list[Figure]:
        def ours(summary: CellSummary) -> Judged | None:
            found = summary.latency_us
            return Judged(found.p95 * 1e-6) if found is not None and found.p95 else None

        def theirs(published: Published, summary: CellSummary) -> float | None:
            factor = UNITS.get(published.unit)
            if published.metric != "latency_us.p95" or published.value <= 0:
                return None
            return None if factor is None else published.value * factor * 1e-6

        named = sweep_dots.has_names(result)
        if named:
            data = sweep_dots.rows(result, ours, theirs, "%{x:.3s}s")
        else:
            data = sweep_lines.lines(swept, ours, theirs, "%{y:.3s}s")
        if not data:
            return []
        values = [value * 1e6 for trace in data for value in trace["x" if named else "y"]]
        axis = latency_axis("p95 latency", min(values), max(values))
        if named:
            layout, height = sweep_dots.layout(result, axis, data), sweep_dots.height(result)
            return [Figure(self.name, "Latency, p95", self.description, data, layout, height, wide=True)]
        layout = {"xaxis": sweep_lines.axis(swept), "yaxis": axis, "showlegend": len(data) > 1}
        data += sweep_lines.legend_only(data)
        height = 400 + sweep_lines.legend_height(data)
        return [Figure(self.name, "Latency, p95", self.description, data, layout, height)]
