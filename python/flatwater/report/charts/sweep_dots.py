"""A sweep whose cells have names: one row for each name, with our figure and the published one beside each other.

Names have no order on an axis and no distance from each other, so no line connects the rows.
"""

from __future__ import annotations

from flatwater.report.charts.sweep_lines import Ours, Theirs, dot, published_figure
from flatwater.report.figure import BLUE, INK, Json
from flatwater.report.units import plain
from flatwater.results import Cell, Result

#: Pixels of a row, and of the axis and the legend together.
ROW_HEIGHT, MARGINS_HEIGHT = 26, 110
#: A longer name is cut; the table beside the chart has all of it.
NAME_LETTERS_MAX = 48
#: The width of a letter of a row's name, in pixels.
LETTER_WIDTH = 6.6
#: The most pixels that names take from a page that is 390 pixels wide.
NAMES_WIDTH_MAX = 330


def has_names(result: Result) -> bool:
    """Whether the experiment gives every cell a name."""
    return len(result.cells) > 1 and all(cell.given_name for cell in result.cells)


def rows(result: Result, judged: Ours, published: Theirs, template: str) -> list[Json]:
    """The published figures hollow and ours as filled dots with error bars: at most two traces, `y` is the name."""
    theirs = _trace("published", {"symbol": "diamond-open", "size": 11, "color": INK, "line": {"width": 2}}, template)
    ours = _trace("ours", {"symbol": "circle", "size": 9, "color": BLUE}, template)
    up: list[float] = []
    down: list[float] = []
    for name, cells in _by_name(result).items():
        summaries = [cell.summary for cell in cells if cell.summary is not None]
        if (mark := dot(summaries, judged)) is not None:
            ours["x"].append(mark.value)
            ours["y"].append(name)
            up.append(mark.up)
            down.append(mark.down)
        if (figure := published_figure(summaries, published)) is not None:
            theirs["x"].append(figure)
            theirs["y"].append(name)
    ours["error_x"] = {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "width": 4}
    return [trace for trace in (theirs, ours) if trace["x"]]


def layout(result: Result, xaxis: Json, data: list[Json]) -> Json:
    """The layout of a figure with a row for each name, in the file's order from the top."""
    names = list(_by_name(result))
    letters = max(map(len, names))
    yaxis = {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": names,
        "autorange": "reversed",
        "fixedrange": True,
        "dtick": 1,
    }
    return {
        # Few labels, upright: on a telephone the names take most of the width.
        "xaxis": {**xaxis, "nticks": 4, "tickangle": 0},
        "yaxis": yaxis,
        "margin": {"l": min(round(letters * LETTER_WIDTH) + 20, NAMES_WIDTH_MAX)},
        "hovermode": "closest",
        "showlegend": len(data) > 1,
    }


def height(result: Result) -> int:
    """The height in pixels of a figure with a row for each name."""
    return MARGINS_HEIGHT + ROW_HEIGHT * len(_by_name(result))


def _by_name(result: Result) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for cell in result.cells:
        name = cell.given_name
        found.setdefault(
            plain(name if len(name) <= NAME_LETTERS_MAX else f"{name[: NAME_LETTERS_MAX - 1]}…"), []
        ).append(cell)
    return found


def _trace(name: str, marker: Json, template: str) -> Json:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [],
        "y": [],
        "marker": marker,
        "hovertemplate": f"{template}<extra>{name}</extra>",
    }
