"""Throughput against the swept field."""

from __future__ import annotations

from flatwater.report.charts import sweep_dots, sweep_lines
from flatwater.report.charts.chart import SweepChart
from flatwater.report.charts.sweep_lines import Judged, Ours, Theirs
from flatwater.report.figure import Figure, Json, linear_axis
from flatwater.report.swept import Swept
from flatwater.report.units import plain
from flatwater.results import CellSummary, Published, Result


class SweepThroughput(SweepChart):
    """The mean of each cell against the swept field, with the published figures beside it.

    Only cells with the unit of the experiment's first cell are drawn.
    """

    name = "sweep-throughput"
    order = 10
    description = (
        "Mean of the measured phase. Error bars: the 95 % confidence interval of one run, or lowest to highest of "
        "several. Dashed or hollow: published figures."
    )

    def draw(self, result: Result, swept: Swept) -> list[Figure]:
        units = [cell.summary.unit for cell in result.cells if cell.summary is not None]
        if not units:
            return []
        # Means in different units have no common axis; the first unit is the experiment's.
        unit = units[0]

        def ours(summary: CellSummary) -> Judged | None:
            if summary.mean is None or summary.unit != unit:
                return None
            return Judged(summary.mean, summary.mean_ci95)

        def theirs(published: Published, summary: CellSummary) -> float | None:
            if published.relative_to is not None:
                # Drawn as the published ratio times our figure of the other cell.
                if published.metric != "mean" or not published.ours or summary.mean is None:
                    return None
                return published.value * summary.mean / published.ours
            same = published.metric == "mean" and published.unit.casefold() == unit.casefold()
            return published.value if same and summary.unit == unit else None

        if sweep_dots.has_names(result):
            return self._named(result, ours, theirs, unit)
        data = sweep_lines.lines(swept, ours, theirs, f"%{{y:,.4~r}} {plain(unit)}")
        if not data:
            return []
        top = max(y + up for trace in data for y, up in _tops(trace))
        layout = {
            "xaxis": sweep_lines.axis(swept),
            "yaxis": linear_axis(f"throughput, {plain(unit)}", top),
            "showlegend": len(data) > 1,
        }
        data += sweep_lines.legend_only(data)
        height = 400 + sweep_lines.legend_height(data)
        return [Figure(self.name, "Throughput", self.description, data, layout, height)]

    def _named(self, result: Result, ours: Ours, theirs: Theirs, unit: str) -> list[Figure]:
        data = sweep_dots.rows(result, ours, theirs, f"%{{x:,.4~r}} {plain(unit)}")
        if not data:
            return []
        ends = [x + up for trace in data for x, up in zip(trace["x"], _ups(trace, "error_x"), strict=True)]
        layout = sweep_dots.layout(result, linear_axis(f"throughput, {plain(unit)}", max(ends)), data)
        height = sweep_dots.height(result)
        return [Figure(self.name, "Throughput", self.description, data, layout, height, wide=True)]


def _tops(trace: Json) -> list[tuple[float, float]]:
    return list(zip(trace["y"], _ups(trace, "error_y"), strict=True))


def _ups(trace: Json, name: str) -> list[float]:
    """The upper parts of a trace's error bars; zeros if it has none."""
    error = trace.get(name)
    return error["array"] if isinstance(error, dict) else [0.0] * len(trace["y"])
