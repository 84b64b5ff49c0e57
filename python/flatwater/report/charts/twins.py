"""A real run and its modelled twin in one chart: throughput, checkpoint age and dirty pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from flatwater.experiment.twin import FIELD
from flatwater.report.charts.chart import SweepChart
from flatwater.report.charts.throughput import STATE, Throughput
from flatwater.report.downsample import Line, lines
from flatwater.report.figure import (
    BLUE,
    ORANGE,
    WARMUP_SHADE,
    Figure,
    Json,
    Panel,
    linear_axis,
    panels_height,
    percent_axis,
    stacked_panels,
    time_axis,
)
from flatwater.report.recorded import encode_values
from flatwater.report.swept import Swept, shown
from flatwater.report.units import Scale, binary_scale, number, percent, plain, time_scale
from flatwater.results import Cell, Result

AGE, DIRTY = STATE
#: The most pairs that are drawn; the table has all.
PAIRS_MAX = 24
#: The buckets of a line: the page's width in pixels, divided among the pairs, and never fewer than this.
BUCKETS, BUCKETS_MIN = 1200, 150
#: Dirty pages that stay under this share have an axis that fits them, as in the chart of one cell.
DIRTY_LITTLE_PCT = 40.0
#: How the two of a pair are marked: a name, a colour, a stroke.
LOOKS = (("real", BLUE, "solid"), ("modelled", ORANGE, "solid"))


@dataclass(frozen=True)
class _Drawn:
    """One series of one of a pair, thinned; times count from the start of its measurement."""

    line: Line
    name: str
    colour: str
    stroke: str


class Twins(SweepChart):
    """A figure for each pair of a real cell and its modelled twin, on one time axis."""

    name = "twins"
    order = 5
    description = (
        "The same experiment on the real server and on its modelled twin, both from the start of their measurement "
        "(shaded: the warm-up). Series that only one of the two recorded are left out."
    )

    def draw(self, result: Result, swept: Swept) -> list[Figure]:
        found = list(pairs(result))[:PAIRS_MAX]
        buckets = max(BUCKETS_MIN, BUCKETS // max(1, len(found)))
        figures = [self._pair(real, model, buckets, len(found) > 1) for real, model in found]
        return [figure for figure in figures if figure is not None]

    def _pair(self, real: Cell, model: Cell, buckets: int, many: bool) -> Figure | None:
        series = {name: _both((real, model), name, buckets) for name in (*Throughput.fine, AGE, DIRTY)}
        there = [one.line for both in series.values() for one in both]
        if not there:
            return None
        begin_s = min(float(one.time_s[0]) for one in there)
        end_s = max(float(one.time_s[-1]) for one in there)
        clock = time_scale(end_s - begin_s)
        panels = list(_panels(series, clock, _unit(real, model)))
        data, layout = stacked_panels(panels)
        layout["xaxis"] = {
            **time_axis(clock, end_s),
            **layout["xaxis"],
            "title": {"text": f"time since the measurement began, {clock.unit}"},
            "range": [min(0.0, begin_s) * clock.factor, end_s * clock.factor],
        }
        layout["shapes"] = _warmup(begin_s * clock.factor) if begin_s < 0 else []
        label = _setting(real)
        title = "A real run and its modelled twin" + (f": {label}" if label else "")
        key = f"{self.name}-{real.index:04}" if many else self.name
        about = f"{self.description}{_ratio(real, model)}"
        return Figure(key, title, about, data, layout, panels_height(panels), wide=True)


def pairs(result: Result) -> Iterator[tuple[Cell, Cell]]:
    """The real cells that recorded a series, each with its modelled twin, in the sweep's order."""
    twins: dict[str, Cell] = {}
    for cell in result.cells:
        if cell.set.get(FIELD) is True and cell.summary is not None:
            twins[_key(cell)] = cell
    for cell in result.cells:
        if cell.set.get(FIELD) is False and cell.summary is not None and _key(cell) in twins:
            yield cell, twins[_key(cell)]


def _key(cell: Cell) -> str:
    """The values that a cell and its twin have in common."""
    rest = {name: value for name, value in cell.set.items() if name != FIELD}
    return json.dumps([rest, cell.plan.repeat], sort_keys=True, default=str)


def _both(pair: tuple[Cell, Cell], name: str, buckets: int) -> list[_Drawn]:
    """A series of both; empty if one of the two did not record it."""
    layer, metric = name.split(".", 1)
    found = []
    for cell, (word, colour, stroke) in zip(pair, LOOKS, strict=True):
        series = cell.series(layer, metric)
        if not len(series) or not np.isfinite(series.value).any():
            return []
        start_s, _ = cell.measured_span()
        [thinned] = lines(series.time_s - start_s, [series.value], buckets)
        found.append(_Drawn(thinned, word, colour, stroke))
    return found


def _panels(series: dict[str, list[_Drawn]], clock: Scale, unit: str) -> Iterator[Panel]:
    titled = False
    for name, both in series.items():
        if not both:
            continue
        top = max(one.line.high for one in both)
        scale, told = 1.0, "%"
        if name == AGE:
            binary = binary_scale(top)
            scale, told = binary.factor, binary.unit
            axis = linear_axis(f"age, {told}", top * scale)
        elif name == DIRTY:
            axis = percent_axis("dirty, %") if top > DIRTY_LITTLE_PCT else linear_axis("dirty, %", top)
        else:
            told = unit
            axis = linear_axis(f"throughput, {unit}" if unit else "throughput", top)
        # One legend is for all panels.
        traces = [_trace(one, clock, scale, told, legend=not titled) for one in both]
        titled = True
        yield Panel(traces, axis, 2.2 if name in Throughput.fine else 1.2)


def _trace(one: _Drawn, clock: Scale, scale: float, unit: str, *, legend: bool) -> Json:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": one.name,
        "legendgroup": one.name,
        "showlegend": legend,
        "x": encode_values(one.line.time_s * clock.factor, 7),
        "y": encode_values(one.line.value * scale),
        "line": {"color": one.colour, "width": 1.3, "dash": one.stroke},
        "hovertemplate": f"%{{y:,.4~r}} {unit}<extra>{one.name}</extra>",
    }


def _warmup(begin: float) -> list[Json]:
    shade = {"type": "rect", "xref": "x", "yref": "paper", "x0": begin, "x1": 0, "y0": 0, "y1": 1}
    return [shade | {"fillcolor": WARMUP_SHADE, "opacity": 0.6, "line": {"width": 0}, "layer": "below"}]


def _setting(cell: Cell) -> str:
    """The other swept values, in a few words."""
    told = [f"{name.rpartition('.')[2]} {shown(name, value)}" for name, value in cell.set.items() if name != FIELD]
    again = [f"repeat {cell.plan.repeat + 1}"] if cell.plan.repeat else []
    return plain(", ".join(told + again))


def _unit(real: Cell, model: Cell) -> str:
    """The unit of both; empty if they differ."""
    units = {cell.summary.unit for cell in (real, model) if cell.summary is not None}
    return plain(units.pop()) if len(units) == 1 else ""


def _ratio(real: Cell, model: Cell) -> str:
    """The difference of the means, as a sentence."""
    one, other = real.summary, model.summary
    if one is None or other is None or not one.mean or other.mean is None or one.unit != other.unit:
        return ""
    told = f"{number(other.mean)} against {number(one.mean)} {plain(one.unit)}"
    return f" Mean of the model against the real one's: {told}, {percent(other.mean / one.mean - 1, signed=True)}."
