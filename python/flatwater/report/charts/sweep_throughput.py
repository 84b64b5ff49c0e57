"""Throughput against the swept field."""

from __future__ import annotations

from flatwater.report.charts import sweep_lines
from flatwater.report.charts.chart import SweepChart
from flatwater.report.charts.sweep_lines import Judged
from flatwater.report.figure import Figure, linear_axis
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
        "several. Dashed: published figures."
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


def _tops(trace: dict[str, object]) -> list[tuple[float, float]]:
    values: list[float] = trace["y"]  # type: ignore[assignment]
    error = trace.get("error_y")
    up = error["array"] if isinstance(error, dict) else [0.0] * len(values)
    return list(zip(values, up, strict=True))
