"""The three charts of a sheet of paper: small, with one strip each."""

from __future__ import annotations

import dataclasses

from flatwater.report.charts.database import AGE, age_panel
from flatwater.report.charts.histogram import LatencyHistogram
from flatwater.report.charts.latency import Latency
from flatwater.report.charts.strips import strips
from flatwater.report.charts.throughput import Throughput, throughput_panel
from flatwater.report.drawing import alone, draw, sweep_figures
from flatwater.report.figure import Figure
from flatwater.report.recorded import Recorded
from flatwater.results import Cell, Result

#: Pixels of a chart: the first is as wide as the sheet.
_WIDE_HEIGHT, _HEIGHT = 190, 165
_COUNT = 3
#: Letters and margins of a chart that is half as wide as the sheet.
_SMALL = {
    "font": {"size": 9.5},
    "margin": {"l": 58, "r": 8, "t": 20, "b": 34},
    "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom", "font": {"size": 9}},
}


def sheet_figures(result: Result, cell: Cell) -> list[Figure]:
    """Of a sweep its first chart, and throughput and latency of the cell; of a single cell a third one."""
    (drawn,) = draw(result, [cell])
    recorded = drawn.recorded
    found = sweep_figures(result)[:1]
    found += [alone(drawn, figure) for figure in (*_throughput(recorded), *_latency(recorded), *_state(recorded))]
    return [_small(figure, wide=place == 0) for place, figure in enumerate(found[:_COUNT])]


def _throughput(recorded: Recorded) -> list[Figure]:
    if Throughput.fine[0] not in recorded:
        return []
    panels = [throughput_panel(recorded)]
    return [strips(recorded, Throughput.name, "Throughput over time", Throughput.description, panels)]


def _latency(recorded: Recorded) -> list[Figure]:
    return Latency().draw(recorded)


def _state(recorded: Recorded) -> list[Figure]:
    """What stands behind the throughput: the checkpoint age of a database; else latencies as a histogram."""
    if AGE in recorded:
        return [strips(recorded, "age", "Checkpoint age", "", [age_panel(recorded)])]
    return LatencyHistogram().draw(recorded)


def _small(figure: Figure, *, wide: bool) -> Figure:
    # A stack of one strip has no space of its own for a legend.
    layout = {**figure.layout, **_SMALL}
    for name in ("xaxis", "yaxis"):
        axis = layout.get(name, {})
        # Each category keeps its label.
        layout[name] = {**axis, "automargin": True} if axis.get("type") == "category" else {**axis, "nticks": 5}
    data = [{**trace, "legend": "legend"} for trace in figure.data]
    height = _WIDE_HEIGHT if wide else _HEIGHT
    return dataclasses.replace(figure, data=data, layout=layout, wide=wide, height=height, linked=False)
