"""The result of a chart, and the style of all charts.

A trace does not hold its points. `{"series": "storage.queue_depth", "scale": 1}` names the line to draw.
`DrawnCell.resolved` (for image files) or `resolve` of `templates/page.js` replaces it by `x` and `y`. The points of a
series are therefore on the page once, however many charts show it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flatwater.report.units import Scale, seconds

Json = dict[str, Any]

#: The program that draws, on the page and for image files alike (vendor/README.md).
PLOTLY = Path(__file__).parent / "vendor" / "plotly-basic.min.js"

# Okabe and Ito's palette (2008), which people with colour blindness can distinguish; black is for marks and text.
BLUE, ORANGE, GREEN, RED, SKY, PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"
COLOURS = (BLUE, ORANGE, GREEN, RED, SKY, PURPLE)
INK, FAINT, GRID, PAPER = "#222222", "#6b6b6b", "#e4e4e4", "#ffffff"
#: The shades of the phases that are not measured, and of the part of the measured phase before the run settled.
PRECONDITION_SHADE, WARMUP_SHADE, APPROACH_SHADE = "#cfcfcf", "#e6e0cf", "#ebe6d8"
DRAIN_SHADE, SETTLING_SHADE = "#dfe6e9", "#f1ecdf"
#: Each colour above -> its counterpart on a dark page, which `templates/page.js` puts in its place. A test holds that
#: charts use no other colours.
DARK = {
    BLUE: "#5AB4F0",
    ORANGE: "#F0B429",
    GREEN: "#2CC79A",
    RED: "#FF8A4C",
    SKY: "#8FD0F5",
    PURPLE: "#E29BC4",
    INK: "#E6E6E6",
    FAINT: "#A8A8A8",
    GRID: "#3A3D40",
    PAPER: "#16181A",
    PRECONDITION_SHADE: "#4A4A4A",
    WARMUP_SHADE: "#403C30",
    APPROACH_SHADE: "#3A372E",
    DRAIN_SHADE: "#2F393D",
    SETTLING_SHADE: "#35322A",
}

FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', Arial, sans-serif"

#: Above the lines, from the left.
LEGEND: Json = {
    "orientation": "h",
    "x": 0,
    "xanchor": "left",
    "y": 1.02,
    "yanchor": "bottom",
    "itemsizing": "constant",
    "traceorder": "normal",
    "bgcolor": "rgba(0,0,0,0)",
    "font": {"size": 12},
}
#: The base of every figure; on the page once.
TEMPLATE: Json = {
    "layout": {
        "font": {"family": FONT, "size": 12, "color": INK},
        "paper_bgcolor": PAPER,
        "plot_bgcolor": PAPER,
        "colorway": list(COLOURS),
        # The left and right margins are fixed, so that the time axes of all charts are aligned.
        "margin": {"l": 84, "r": 40, "t": 34, "b": 46},
        # Vertical in the right margin, where it covers neither the legend nor the lines.
        "modebar": {"orientation": "v"},
        "hovermode": "x",
        "hoverlabel": {"namelength": -1, "bgcolor": PAPER, "font": {"color": INK}},
        "separators": ".,",
        "legend": LEGEND,
        "xaxis": {
            "gridcolor": GRID,
            "zeroline": False,
            "linecolor": FAINT,
            "ticks": "outside",
            "tickcolor": FAINT,
            "ticklen": 4,
            "title": {"standoff": 6},
        },
        "yaxis": {
            "gridcolor": GRID,
            "zeroline": False,
            "linecolor": FAINT,
            "ticks": "outside",
            "tickcolor": FAINT,
            "ticklen": 4,
            "title": {"standoff": 8},
        },
    }
}


@dataclass(frozen=True)
class Figure:
    """One drawing: plotly traces and layout as plain data. `key` names its image file."""

    key: str
    title: str
    about: str
    data: list[Json]
    layout: Json
    height: int = 300
    #: Follows the zoom of the other charts over time.
    linked: bool = False
    #: For a sweep's charts: the figure takes the whole width, as the charts over time do.
    wide: bool = False

    def as_json(self) -> Json:
        """The figure as the page's script reads it: every field under its own name."""
        return {
            "key": self.key,
            "title": self.title,
            "about": self.about,
            "data": self.data,
            "layout": self.layout,
            "height": self.height,
            "linked": self.linked,
            "wide": self.wide,
        }


@dataclass(frozen=True)
class Panel:
    """One strip of a figure: its traces, its y axis, and its height relative to the other strips."""

    data: list[Json]
    yaxis: Json
    share: float = 1.0


#: Pixels of a strip, of the space above it (for its legend), and of the margins.
PANEL_HEIGHT, PANEL_GAP, MARGINS_HEIGHT = 100, 30, 80


def panels_height(panels: list[Panel]) -> int:
    """The height in pixels of a figure with these strips."""
    shares = sum(panel.share for panel in panels)
    return round(MARGINS_HEIGHT + PANEL_HEIGHT * shares + PANEL_GAP * (len(panels) - 1))


def stacked_panels(panels: list[Panel]) -> tuple[list[Json], Json]:
    """Strips, stacked over one x axis, each with its legend: (traces, layout without the x axis)."""
    data: list[Json] = []
    layout: Json = {"showlegend": True}
    inside = panels_height(panels) - MARGINS_HEIGHT
    top = 1.0
    for place, panel in enumerate(panels):
        suffix = "" if place == 0 else str(place + 1)
        bottom = max(0.0, top - PANEL_HEIGHT * panel.share / inside)
        layout[f"yaxis{suffix}"] = {**panel.yaxis, "domain": [round(bottom, 4), round(top, 4)]}
        layout[f"legend{suffix}"] = {**LEGEND, "y": round(top, 4) + 0.005}
        data.extend({**trace, "yaxis": f"y{suffix}", "legend": f"legend{suffix}"} for trace in panel.data)
        top = bottom - PANEL_GAP / inside
    layout["xaxis"] = {"anchor": "y" if len(panels) == 1 else f"y{len(panels)}"}
    return data, layout


def line(name: str, series: str, colour: str, unit: str, scale: float = 1.0, **more: Any) -> Json:
    """A line over time. `unit` must be one of ours or must have gone through `plain`."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "series": series,
        "scale": scale,
        "line": {"color": colour, "width": 1.2},
        "hovertemplate": f"%{{y:,.4~r}} {unit}<extra>{name}</extra>",
        **more,
    }


def latency_line(name: str, series: str, colour: str, **more: Any) -> Json:
    """A latency recorded in microseconds, drawn in seconds: plotly then chooses µs, ms and s itself.

    Zero means that there was no request, and breaks the line, because a logarithmic axis has no zero.
    """
    drawn = line(name, series, colour, "", 1e-6, **more)
    drawn["hovertemplate"] = f"%{{y:.3s}}s<extra>{name}</extra>"
    drawn["positive"] = True
    return drawn


def linear_axis(title: str, top: float) -> Json:
    """From 0 to a little above `top`: on an axis that does not start at zero, any ripple looks like a dip."""
    return {
        "title": {"text": title},
        "range": [0, top * 1.06 if top > 0 else 1],
        "fixedrange": True,
        # For larger values, thousands separators are wider than the margin.
        "tickformat": "~s" if top >= 1e7 else ",.4~r",
        "nticks": 6,
    }


def percent_axis(title: str) -> Json:
    """An axis of fixed range, 0 to 100, with a little room so that a line at 100 % is visible."""
    return {"title": {"text": title}, "range": [0, 102], "fixedrange": True, "tickvals": [0, 25, 50, 75, 100]}


def latency_axis(title: str, low_us: float, high_us: float) -> Json:
    """Logarithmic, in seconds with an SI prefix, wide enough for `low_us` .. `high_us`."""
    low = math.log10(max(low_us, 0.1) * 1e-6)
    high = max(math.log10(max(high_us, 0.1) * 1e-6), low)
    room = max(0.05, (high - low) * 0.05, (0.5 - (high - low)) / 2)
    ticks = latency_ticks(low - room, high + room)
    return {
        "title": {"text": title},
        "type": "log",
        "range": [low - room, high + room],
        "fixedrange": True,
        **ticks,
    }


def latency_ticks(low: float, high: float) -> Json:
    """Labels of a logarithmic axis of seconds from 10^low to 10^high: decades, or steps if there would be few decades.

    They are written out, because plotly omits the unit from the labels between decades.
    """
    steps = (1.0,) if high - low >= 2.5 else (1.0, 2.0, 5.0) if high - low >= 1 else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
    decades = range(math.floor(low), math.ceil(high) + 1)
    values = [float(f"{step}e{decade}") for decade in decades for step in steps]
    values = [value for value in values if low <= math.log10(value) <= high]
    return {"tickmode": "array", "tickvals": values, "ticktext": [seconds(value) for value in values]}


def time_axis(scale: Scale, span_s: float) -> Json:
    """The x axis that all charts over time share."""
    return {
        "title": {"text": f"time since the start, {scale.unit}"},
        "range": [0, span_s * scale.factor if span_s > 0 else 1],
        "tickformat": ",~r",
        "hoverformat": ",.6~r",
    }
