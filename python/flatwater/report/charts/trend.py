"""A figure of repeated runs over time, with its levels and the places where they changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from flatwater.report.figure import BLUE, INK, ORANGE, Figure, Json, linear_axis
from flatwater.report.units import plain


@dataclass(frozen=True)
class Level:
    """The runs from `first` on, up to the next level, and their level."""

    first: int
    value: float
    #: What is told of the change to it; empty for the first level.
    told: str = ""


def trend_figure(
    key: str,
    title: str,
    unit: str,
    points: Sequence[tuple[datetime, str, float]],
    levels: Sequence[Level],
) -> Figure:
    """The figure of each run (when it began, its name, its value), in the order of time, and its levels."""
    numbers = list(range(1, len(points) + 1))
    data: list[Json] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "a run",
            "x": numbers,
            "y": [value for _, _, value in points],
            "text": [plain(f"{name}, {at:%Y-%m-%d %H:%M}") for at, name, _ in points],
            "marker": {"color": BLUE, "size": 7},
            "hovertemplate": f"%{{y:,.4~r}} {plain(unit)}<br>%{{text}}<extra></extra>",
        }
    ]
    ends = [*(level.first for level in levels[1:]), len(points)]
    xs: list[float | None] = []
    ys: list[float | None] = []
    # Without a change there is no level to draw.
    for level, end in zip(levels, ends, strict=False):
        xs += [level.first + 0.5, end + 0.5, None]
        ys += [level.value, level.value, None]
    if levels:
        line: Json = {"color": ORANGE, "width": 2}
        data.append({"type": "scatter", "mode": "lines", "name": "its level", "x": xs, "y": ys, "line": line})
    changes = [level for level in levels if level.told]
    layout: Json = {
        "xaxis": {"title": {"text": "run, the oldest first"}, "range": [0.4, len(points) + 0.6]},
        "yaxis": linear_axis(plain(unit), max((value for _, _, value in points), default=1.0)),
        "shapes": [
            {
                "type": "line",
                "x0": level.first + 0.5,
                "x1": level.first + 0.5,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"color": INK, "width": 1, "dash": "dot"},
            }
            for level in changes
        ],
        "annotations": [
            {
                "x": level.first + 0.5,
                "yref": "paper",
                # Where the lines are not, one above the other: changes near each other would hide each other's text.
                "y": 0.02 + 0.1 * (place % 4),
                "yanchor": "bottom",
                "xanchor": "left",
                "text": plain(level.told),
                "showarrow": False,
            }
            for place, level in enumerate(changes)
        ],
        "hovermode": "closest",
        "showlegend": True,
    }
    about = "Every complete run that is compared, its level, and where the level changed."
    return Figure(key, title, about, data, layout, 300, wide=True)
