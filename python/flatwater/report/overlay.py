"""Cells of several results, laid over each other: throughput since the measurement began."""

from __future__ import annotations

from collections.abc import Sequence

from flatwater.report.downsample import lines
from flatwater.report.figure import COLOURS, Figure, Json, linear_axis, time_axis
from flatwater.report.recorded import FINE_BUCKETS, encode_values
from flatwater.report.swept import label
from flatwater.report.units import plain, time_scale
from flatwater.results import Cell


def overlay(cells: Sequence[tuple[str, Cell]], place: int) -> Figure | None:
    """One line a cell, under the given names: at most as many as there are colours. None if nothing was recorded.

    `place` is the figure's among those of its page.
    """
    found = []
    for name, cell in cells[: len(COLOURS)]:
        series = cell.measured("workload", "throughput")
        if len(series):
            start_s, _ = cell.measured_span()
            found.append((name, cell, lines(series.time_s - start_s, [series.value], FINE_BUCKETS)[0]))
    if not found:
        return None
    span_s = max(float(one.time_s[-1]) for _, _, one in found)
    clock = time_scale(span_s)
    units = dict.fromkeys(cell.summary.unit for _, cell, _ in found if cell.summary is not None)
    unit = plain(" / ".join(units))
    data: list[Json] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": plain(name),
            "x": encode_values(one.time_s * clock.factor),
            "y": encode_values(one.value),
            "line": {"color": colour, "width": 1.2},
            "hovertemplate": f"%{{y:,.4~r}} {unit}<extra>{plain(name)}</extra>",
        }
        for (name, _, one), colour in zip(found, COLOURS, strict=False)
    ]
    axis = time_axis(clock, span_s)
    axis["title"] = {"text": f"time since the measurement began, {clock.unit}"}
    top = max(one.high for _, _, one in found)
    layout = {"xaxis": axis, "yaxis": linear_axis(f"throughput, {unit}" if unit else "throughput", top)}
    first = found[0][1]
    title = f"Throughput over time: {label(first)}" if first.set else "Throughput over time"
    about = "Every measured interval of each, from the second in which its measurement began."
    return Figure(f"overlay-{place}", title, about, data, {**layout, "showlegend": True}, 360, wide=True)
