"""The chart of a comparison: cost across, throughput up with its interval, and the frontier as a staircase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flatwater.cost.comparison import Comparison, Row
from flatwater.cost.words import money, number
from flatwater.report.figure import COLOURS, FAINT, Figure, Json, linear_axis
from flatwater.report.units import plain

#: Room to the right of the dearest row, for its number.
ROOM = 1.08
ABOUT = (
    "Each point is a row of the table, by its number. The bar is the 95 % interval of its throughput; a hollow point "
    "is a prediction. The dashed line goes through the rows that no other row beats at their price."
)


def draw(comparison: Comparison) -> Figure | None:
    """The chart; None where nothing has a cost."""
    rows = [(place, row) for place, row in enumerate(comparison.rows, start=1) if row.cost is not None]
    if not rows:
        return None
    families = list(dict.fromkeys(row.candidate.family for _, row in rows))
    data = _frontier([row for _, row in rows])
    data += [
        _points(family, COLOURS[number % len(COLOURS)], rows, comparison.currency)
        for number, family in enumerate(families)
    ]
    dearest = max(row.cost or 0.0 for _, row in rows)
    highest = max(_high(row) for _, row in rows)
    layout: Json = {
        "xaxis": {
            "title": {"text": f"cost of {comparison.years:g} years, {plain(comparison.currency)}"},
            "range": [0, (dearest or 1.0) * ROOM],
            "fixedrange": True,
            "tickformat": ",~r",
        },
        "yaxis": linear_axis(plain(comparison.unit), highest),
        "hovermode": "closest",
        "showlegend": True,
    }
    return Figure("cost", "Cost and throughput", ABOUT, data, layout, 430, wide=True)


def _high(row: Row) -> float:
    return row.candidate.throughput if row.candidate.high is None else row.candidate.high


def _frontier(rows: Sequence[Row]) -> list[Json]:
    """A staircase: between two rows on the frontier, the cheaper one is the best that can be had."""
    best = sorted((row.cost or 0.0, row.candidate.throughput) for row in rows if row.frontier == "yes")
    if len(best) < 2:
        return []
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "frontier",
            "x": [cost for cost, _ in best],
            "y": [throughput for _, throughput in best],
            "line": {"shape": "hv", "dash": "dash", "width": 1.2, "color": FAINT},
            "hoverinfo": "skip",
        }
    ]


def _points(family: str, colour: str, rows: Sequence[tuple[int, Row]], currency: str) -> Json:
    mine = [(place, row) for place, row in rows if row.candidate.family == family]
    up = [_high(row) - row.candidate.throughput for _, row in mine]
    down = [row.candidate.throughput - (row.candidate.low or row.candidate.throughput) for _, row in mine]
    told: list[Any] = [
        f"{place}: {plain(row.candidate.name)}<br>{number(row.candidate.throughput)} {plain(row.candidate.unit)}, "
        f"{plain(money(row.cost, currency))}"
        for place, row in mine
    ]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": plain(family),
        "x": [row.cost for _, row in mine],
        "y": [row.candidate.throughput for _, row in mine],
        "text": [str(place) for place, _ in mine],
        "textposition": "top right",
        "hovertext": told,
        "hoverinfo": "text",
        "marker": {
            "color": colour,
            "size": 10,
            "symbol": ["circle-open" if row.candidate.predicted else "circle" for _, row in mine],
            "line": {"width": 2, "color": colour},
        },
        "error_y": {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "color": colour},
    }
