"""The drawings of a result, for the page and for image files alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from flatwater.report.charts import CELL_CHARTS, SWEEP_CHARTS, CellChart, wanted_by
from flatwater.report.figure import Figure, Json
from flatwater.report.recorded import COARSE_SHARE, Recorded, Wanted, buckets_for, encode_values, read
from flatwater.report.swept import arrange
from flatwater.results import Cell, Result

#: The most cells whose charts are on the page; the table and the charts of the sweep have all cells.
CELLS_DRAWN_MAX = 400
#: A line with at most this many samples has a dot at each.
DOTS_FEW = 60
#: Dots are slow to draw, so more than this are not drawn, even if a sample stands alone.
DOTS_MAX = 2000


@dataclass(frozen=True)
class DrawnCell:
    """One cell's figures, and the lines to which they refer."""

    recorded: Recorded
    figures: list[Figure]

    def as_json(self) -> Json:
        """The data from which `templates/page.js` draws."""
        used = {trace["series"] for figure in self.figures for trace in figure.data if "series" in trace}
        self.recorded.lines = {name: one for name, one in self.recorded.lines.items() if name in used}
        return {
            "factor": self.recorded.clock.factor,
            "thinned": self.recorded.thinned,
            **self.recorded.lines_as_json(),
            "figures": [figure.as_json() for figure in self.figures],
        }

    def resolved(self, figure: Figure) -> Json:
        """A figure with its points filled in, as plotly needs it."""
        data = []
        for trace in figure.data:
            rest = {name: value for name, value in trace.items() if name not in ("series", "scale", "positive")}
            if "series" in trace:
                one = self.recorded.lines[trace["series"]]
                rest["x"] = one.time_s * self.recorded.clock.factor
                drawn = np.where(one.value > 0, one.value, np.nan) if trace.get("positive") else one.value
                rest["y"] = drawn * trace["scale"]
            data.append(rest)
        return {"data": data, "layout": figure.layout}


def alone(drawn: DrawnCell, figure: Figure) -> Figure:
    """A cell's figure with its points filled in, for a page that has no lines to refer to."""
    resolved = drawn.resolved(figure)
    data = [
        {name: encode_values(value) if isinstance(value, np.ndarray) else value for name, value in trace.items()}
        for trace in resolved["data"]
    ]
    return dataclasses.replace(figure, data=data)


def sweep_figures(result: Result) -> list[Figure]:
    """The figures of all charts of a sweep; empty if the experiment sweeps nothing."""
    swept = arrange(result)
    return [] if swept is None else [figure for chart in SWEEP_CHARTS for figure in chart.draw(result, swept)]


def drawn_cells(result: Result) -> list[Cell]:
    """The cells with charts: those that recorded a series, at most `CELLS_DRAWN_MAX`."""
    return [cell for cell in result.cells if cell.summary is not None or cell.journal.exists()][:CELLS_DRAWN_MAX]


def draw(
    result: Result, cells: list[Cell] | None = None, charts: Sequence[CellChart] = CELL_CHARTS
) -> Iterator[DrawnCell]:
    """Reads and draws the cells, one after the other: those given, or all that have charts."""
    wanted = wanted_by(charts)
    cells = drawn_cells(result) if cells is None else cells
    buckets = buckets_of(cells, wanted)
    for cell in cells:
        recorded = read(cell, wanted, buckets)
        figures = [figure for chart in charts for figure in chart.draw(recorded)]
        for trace in (trace for figure in figures for trace in figure.data if "series" in trace):
            if "stackgroup" not in trace and _needs_dots(recorded, trace):
                trace |= {"mode": "lines+markers", "marker": {"size": 4, "color": trace["line"]["color"]}}
        yield DrawnCell(recorded, figures)


def buckets_of(cells: Sequence[Cell], wanted: Wanted) -> int:
    """Buckets of a fine line of cells that share a page."""
    return buckets_for(len(cells), max((_lines_of(cell, wanted) for cell in cells), default=1))


def _lines_of(cell: Cell, wanted: Wanted) -> int:
    """The number of lines of a cell, with a strip counted as a part of a fine line."""
    names = {f"{layer}.{metric}" for layer, metric in cell.metrics()} - {*wanted.undrawn}
    fine = len(names & {*wanted.fine})
    return max(1, round(fine + COARSE_SHARE * (len(names) - fine)))


def _needs_dots(recorded: Recorded, trace: Json) -> bool:
    """Whether a line needs dots: it has few samples, or some samples have no neighbour to connect to."""
    value = recorded.lines[trace["series"]].value
    there = np.isfinite(value) & (value > 0) if trace.get("positive") else np.isfinite(value)
    alone = there & ~np.append(there[1:], False) & ~np.insert(there[:-1], 0, False)
    return bool(there.sum() <= DOTS_FEW or (alone.any() and there.sum() <= DOTS_MAX))
