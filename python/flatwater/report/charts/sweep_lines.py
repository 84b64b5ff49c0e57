"""The common parts of a sweep's charts: the axis of the swept field, lines with error bars, published figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flatwater.report.figure import COLOURS, INK, Json
from flatwater.report.swept import LABELS_MAX, Swept, shown
from flatwater.report.units import plain
from flatwater.results import CellSummary, Published

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "star")


#: The width of a letter of a tick's label, and of the space beside it, as a share of an axis on half of the page.
LETTER_SHARE = 9.0 / 420
#: A legend on half of the page: letters in a row, letters that a mark takes, pixels of a row, and the rows for which a
#: figure has space.
LEGEND_LETTERS, LEGEND_MARK_LETTERS, LEGEND_ROW, LEGEND_ROWS = 72, 8, 19, 2
#: If there are more lines than this, the published lines share an entry of the legend.
NAMED_TWICE_MAX = 2


@dataclass(frozen=True)
class Judged:
    """One figure of a cell: its value, and the half-width of its error bar if it has one."""

    value: float
    error: float | None = None


#: Our figure of a cell, and a published figure in the chart's unit; None if it does not belong into the chart.
Ours = Callable[[CellSummary], Judged | None]
Theirs = Callable[[Published, CellSummary], float | None]


@dataclass(frozen=True)
class Dot:
    """The figure of one setting, and the lengths of its error bar.

    The bar is the 95 % confidence interval of one run, or the lowest and highest of several repeats.
    """

    value: float
    up: float
    down: float


def dot(summaries: Sequence[CellSummary], judged: Ours) -> Dot | None:
    """The figure of the cells of one setting; None if none has one."""
    found = [one for one in map(judged, summaries) if one is not None]
    if not found:
        return None
    middle = sum(one.value for one in found) / len(found)
    alone = (found[0].error or 0.0) if len(found) == 1 else 0.0
    highest, lowest = max(one.value for one in found), min(one.value for one in found)
    return Dot(middle, highest - middle + alone, middle - lowest + alone)


def published_figure(summaries: Sequence[CellSummary], published: Theirs) -> float | None:
    """The first published figure of one setting that belongs into the chart."""
    for one in summaries:
        for figure in ([one.published] if one.published else []) + one.published_others:
            if (value := published(figure, one)) is not None:
                return value
    return None


def axis(swept: Swept) -> Json:
    """The x axis: logarithmic, linear, or one place for each category; labelled with the values that were set."""
    title = {"title": {"text": plain(swept.field)}, "automargin": True}
    if swept.positions is None:
        return {**title, "type": "category", "categoryorder": "array"} | {
            "categoryarray": [plain(shown(swept.field, value)) for value in swept.values]
        }
    found: Json = {**title, "type": "log" if swept.logarithmic else "linear"}
    if len(swept.positions) <= LABELS_MAX:
        texts = [plain(shown(swept.field, value)) for value in swept.values]
        found |= {"tickmode": "array", "tickvals": swept.positions, "ticktext": _room(swept, texts)}
    return found


def _room(swept: Swept, texts: list[str]) -> list[str]:
    """The labels that do not overlap the label before; the others are empty. The last label is always shown."""
    places = [math.log(one) if swept.logarithmic else one for one in swept.positions or ()]
    span = (max(places) - min(places)) or 1.0
    kept = list(texts)
    before: int | None = None
    last = len(texts) - 1
    for place in range(len(texts)):
        while before is not None:
            room = (places[place] - places[before]) / span
            if room >= LETTER_SHARE * (len(kept[place]) + len(kept[before])) / 2:
                break
            if place < last:
                kept[place] = ""
                break
            kept[before] = ""
            before = next((one for one in range(before - 1, -1, -1) if kept[one]), None)
        if kept[place]:
            before = place
    return kept


def legend_only(data: list[Json]) -> list[Json]:
    """One entry of the legend for all published lines that have no entry."""
    if all(trace.get("showlegend", True) for trace in data):
        return []
    entry: Json = {"type": "scatter", "mode": "lines+markers", "name": "published: hollow", "x": [None], "y": [None]}
    marker = {"symbol": "circle-open", "size": 10, "color": INK, "line": {"width": 2}}
    return [entry | {"line": {"color": INK, "width": 1.5, "dash": "dash"}, "marker": marker, "hoverinfo": "skip"}]


def legend_height(data: list[Json]) -> int:
    """The pixels that a sweep's legend needs beyond its first rows, on half of the page's width."""
    named = [trace["name"] for trace in data if trace.get("showlegend", True)]
    letters = max(map(len, named), default=0)
    columns = max(1, LEGEND_LETTERS // (letters + LEGEND_MARK_LETTERS))
    return LEGEND_ROW * max(0, math.ceil(len(named) / columns) - LEGEND_ROWS)


def lines(
    swept: Swept,
    judged: Ours,
    published: Theirs,
    template: str,
) -> list[Json]:
    """Ours as a solid line with error bars, and the published figures beside it, dashed and hollow.

    An error bar is the 95 % confidence interval of one run, or the lowest and highest of several repeats.
    """
    data: list[Json] = []
    for place, (label, points) in enumerate(swept.lines.items()):
        colour, symbol = COLOURS[place % len(COLOURS)], SYMBOLS[(place // len(COLOURS) + place) % len(SYMBOLS)]
        name = plain(label) or "ours"
        x, y, up, down = [], [], [], []
        theirs_x, theirs_y = [], []
        for point in points:
            at = _place(swept, point.x)
            summaries = [cell.summary for cell in point.cells if cell.summary is not None]
            if (mark := dot(summaries, judged)) is not None:
                x.append(at)
                y.append(mark.value)
                up.append(mark.up)
                down.append(mark.down)
            if (figure := published_figure(summaries, published)) is not None:
                theirs_x.append(at)
                theirs_y.append(figure)
        if x:
            data.append(
                {"type": "scatter", "mode": "lines+markers", "name": name, "x": x, "y": y, "legendgroup": str(place)}
                | {"line": {"color": colour, "width": 2}, "marker": {"symbol": symbol, "size": 8, "color": colour}}
                | {"error_y": {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "width": 4}}
                | {"hovertemplate": f"{template}<extra>{name}</extra>"}
            )
        if theirs_x:
            name = f"{plain(label)}, published" if label else "published"
            data.append(
                {"type": "scatter", "mode": "lines+markers", "name": name, "x": theirs_x, "y": theirs_y}
                | {"line": {"color": colour, "width": 1.5, "dash": "dash"}, "legendgroup": str(place)}
                | {"marker": {"symbol": f"{symbol}-open", "size": 10, "color": colour, "line": {"width": 2}}}
                | {"hovertemplate": f"{template}<extra>{name}</extra>"}
                | ({"showlegend": False} if len(swept.lines) > NAMED_TWICE_MAX else {})
            )
    return data


def _place(swept: Swept, value: object) -> float | str:
    at = swept.position(value)
    return plain(at) if isinstance(at, str) else at
