"""The scatter plot of docs/effects.md: what was measured from left to right, what was predicted from below to above."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from benchmarks.effects.judge import ERROR_WITHIN, Effect
from flatwater.report.charts.sweep_lines import SYMBOLS
from flatwater.report.figure import COLOURS, FAINT, INK, Figure, Json

#: Its name without the ending.
KEY = "effects"
#: The axes end this much beyond the last point.
_MARGIN = 1.15
_TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10)


def scatter(servers: Sequence[tuple[str, Sequence[Effect]]]) -> Figure:
    """A point for each effect, in a colour and shape of its server. Points in the noise of the server are hollow."""
    # A wide interval may leave the picture: the page's table has its ends.
    ends = [ratio for _, found in servers for one in found for ratio in (one.measured, one.predicted)]
    low, high = min([1.0, *ends]) / _MARGIN, max([1.0, *ends]) * _MARGIN
    data = [
        *_lines(low, high),
        *(
            _points(title, found, COLOURS[at % len(COLOURS)], SYMBOLS[at % len(SYMBOLS)])
            for at, (title, found) in enumerate(servers)
        ),
    ]
    axis = {
        "type": "log",
        "range": [math.log10(low), math.log10(high)],
        "tickvals": [tick for tick in _TICKS if low <= tick <= high],
        "ticktext": [f"{tick:g}" for tick in _TICKS if low <= tick <= high],
    }
    layout = {
        "hovermode": "closest",
        # Above the picture, the names of three servers would reach into its title.
        "legend": {"y": -0.1, "yanchor": "top"},
        "xaxis": {**axis, "title": {"text": "measured: changed server / unchanged"}},
        "yaxis": {**axis, "title": {"text": "predicted: changed model / unchanged"}},
    }
    return Figure(KEY, "What a change does: real servers, and their models", "", data, layout, height=760)


def _lines(low: float, high: float) -> Iterable[Json]:
    ends = [low, high]
    yield _line("as measured", ends, ends, INK, "solid")
    for at, sign in enumerate((1, -1)):
        factor = math.exp(sign * ERROR_WITHIN)
        name = f"an error of {ERROR_WITHIN:g}, abs ln"
        yield {**_line(name, ends, [factor * end for end in ends], FAINT, "dash"), "showlegend": at == 0}
    # Left of one line and above the other, or right and below, the sign is wrong.
    for across in ([1.0, 1.0], ends), (ends, [1.0, 1.0]):
        yield {**_line("", *across, FAINT, "dot"), "showlegend": False}


def _line(name: str, x: list[float], y: list[float], colour: str, dash: str) -> Json:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": x,
        "y": y,
        "line": {"color": colour, "width": 1, "dash": dash},
    }


def _points(title: str, found: Sequence[Effect], colour: str, symbol: str) -> Json:
    bars = {
        "type": "data",
        "symmetric": False,
        "array": [one.high - one.measured for one in found],
        "arrayminus": [one.measured - one.low for one in found],
        "width": 3,
        "thickness": 1,
    }
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": title,
        "x": [one.measured for one in found],
        "y": [one.predicted for one in found],
        # The names of all would cover each other: those of the worst are what a reader looks for.
        "text": [one.change if one.error > ERROR_WITHIN else "" for one in found],
        "textposition": "top center",
        "textfont": {"size": 10},
        "marker": {
            "color": colour,
            "size": 9,
            "symbol": [symbol if one.is_outside_noise else f"{symbol}-open" for one in found],
        },
        "error_x": bars,
    }
