"""Panels, stacked over one time axis: the base of most charts over time."""

from __future__ import annotations

from collections.abc import Mapping

from flatwater.report.charts.marks import timeline
from flatwater.report.figure import (
    Figure,
    Panel,
    latency_axis,
    latency_line,
    line,
    linear_axis,
    panels_height,
    percent_axis,
    stacked_panels,
)
from flatwater.report.recorded import Recorded
from flatwater.report.units import binary_scale


def strips(
    recorded: Recorded, key: str, title: str, about: str, panels: list[Panel], *, labels: bool = False
) -> Figure:
    """The panels as one figure with the cell's time axis and its marks; `labels` also names the marks."""
    data, layout = stacked_panels(panels)
    layout = timeline(recorded, layout, labels=labels)
    return Figure(key, title, about, data, layout, panels_height(panels), linked=True)


def counted_by_kind(recorded: Recorded, looks: Mapping[str, tuple[str, str]], title: str, share: float = 1.0) -> Panel:
    """How many of each kind there are a second; `looks` gives the kinds' names and colours."""
    series = {kind: f"workload.{kind}_ops_per_s" for kind in looks}
    data = [line(name, series[kind], colour, "/s", legendgroup=kind) for kind, (name, colour) in looks.items()]
    return Panel(data, linear_axis(title, recorded.top(*series.values())), share)


def timed_by_kind(recorded: Recorded, looks: Mapping[str, tuple[str, str]], share: float = 1.0) -> list[Panel]:
    """The p95 of each kind, under the panel whose legend names the kinds; empty if it was not recorded."""
    series = {kind: f"workload.{kind}_latency_p95_us" for kind in looks}
    series = {kind: one for kind, one in series.items() if one in recorded}
    if not series:
        return []
    data = [latency_line(looks[kind][0], one, looks[kind][1], **silent(kind)) for kind, one in series.items()]
    low, high = recorded.bottom_positive(*series.values()), recorded.top(*series.values())
    return [Panel(data, latency_axis("p95 latency", low, high), share)]


def silent(kind: str) -> dict[str, object]:
    """A line that the legend of another panel names."""
    return {"legendgroup": kind, "showlegend": False}


def counted_panel(recorded: Recorded, looks: Mapping[str, tuple[str, str]], title: str) -> list[Panel]:
    """The recorded series that are not always zero, on one axis from zero.

    `looks` has the name and the colour of each.
    """
    found = [series for series in looks if recorded.top(series) > 0]
    if not found:
        return []
    data = [line(looks[one][0], one, looks[one][1], title) for one in found]
    return [Panel(data, linear_axis(title, recorded.top(*found)))]


def percent_panel(recorded: Recorded, looks: Mapping[str, tuple[str, str]], title: str) -> list[Panel]:
    """The recorded ones of these series, from 0 to 100."""
    found = [series for series in looks if series in recorded]
    if not found:
        return []
    return [Panel([line(looks[one][0], one, looks[one][1], "") for one in found], percent_axis(title))]


def bytes_panel(recorded: Recorded, looks: Mapping[str, tuple[str, str]], *, per_s: bool = False) -> list[Panel]:
    """The recorded series that are not always zero, in a fitting binary unit."""
    found = [series for series in looks if recorded.top(series) > 0]
    if not found:
        return []
    top = recorded.top(*found)
    scale = binary_scale(top)
    unit = f"{scale.unit}/s" if per_s else scale.unit
    data = [line(looks[one][0], one, looks[one][1], unit, scale.factor) for one in found]
    return [Panel(data, linear_axis(unit, top * scale.factor))]
