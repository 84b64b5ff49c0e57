"""The chart of a comparison, as SVG: cost across, throughput up, and the frontier as a line.

It needs no script, so that the page is small, prints as it is, and follows the reader's light or dark colours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from flatwater.cost.comparison import Comparison, Row
from flatwater.cost.words import money, number
from flatwater.report.figure import COLOURS

WIDTH, HEIGHT = 760, 420
#: Pixels around the drawing for the axes' labels.
LEFT, RIGHT, TOP, BOTTOM = 86, 30, 20, 56
#: Room beside the outermost point, a share.
ROOM = 1.08
TICKS = 5
RADIUS = 5


def draw(comparison: Comparison) -> str:
    """The chart as an SVG element; empty where nothing has a cost."""
    rows = [row for row in comparison.rows if row.cost is not None]
    if not rows:
        return ""
    numbers = {id(row): place for place, row in enumerate(comparison.rows, start=1)}
    scale = _Scale(max(row.cost or 0.0 for row in rows), max(_high(row) for row in rows))
    families = list(dict.fromkeys(row.candidate.family for row in rows))
    about = f"Cost over {comparison.years:g} years and throughput of {len(rows)} runs; the table below has the figures."
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(about, quote=True)}">',
        *_axes(scale, comparison),
        *_frontier(scale, rows),
        *(_point(scale, row, numbers[id(row)], families, comparison.currency) for row in rows),
        "</svg>",
        *_legend(families),
    ]
    return "\n".join(parts)


class _Scale:
    """From cost and throughput to pixels; both axes begin at zero, so that a distance is a share of the whole."""

    def __init__(self, cost: float, throughput: float) -> None:
        self.cost = (cost or 1.0) * ROOM
        self.throughput = (throughput or 1.0) * ROOM

    def x(self, cost: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * cost / self.cost

    def y(self, throughput: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * throughput / self.throughput


def ticks(end: float) -> list[float]:
    """Round values from 0 to `end`, about five."""
    step = 10.0 ** math.floor(math.log10(end / TICKS))
    step *= next(factor for factor in (1, 2, 5, 10) if end / (step * factor) <= TICKS + 1)
    return [place * step for place in range(int(end / step) + 1)]


def _high(row: Row) -> float:
    return row.candidate.throughput if row.candidate.high is None else row.candidate.high


def _axes(scale: _Scale, comparison: Comparison) -> Iterator[str]:
    for cost in ticks(scale.cost):
        x = scale.x(cost)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        text = escape(money(cost, comparison.currency))
        yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{text}</text>'
    for throughput in ticks(scale.throughput):
        y = scale.y(throughput)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number(throughput)}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    about = f"cost of {comparison.years:g} years"
    yield f'<text x="{middle:.1f}" y="{HEIGHT - 12}" text-anchor="middle">{about}</text>'
    centre = (TOP + HEIGHT - BOTTOM) / 2
    yield (
        f'<text x="18" y="{centre:.1f}" text-anchor="middle" transform="rotate(-90 18 {centre:.1f})">'
        f"{escape(comparison.unit)}</text>"
    )


def _frontier(scale: _Scale, rows: Sequence[Row]) -> Iterator[str]:
    """A staircase through what nothing beats: between two of them, the cheaper one is the best that can be had."""
    best = sorted((row.cost or 0.0, row.candidate.throughput) for row in rows if row.frontier == "yes")
    if len(best) < 2:
        return
    path = f"M{scale.x(best[0][0]):.1f} {scale.y(best[0][1]):.1f}"
    for cost, throughput in best[1:]:
        path += f"H{scale.x(cost):.1f}V{scale.y(throughput):.1f}"
    yield f'<path class="frontier" d="{path}"/>'


def _point(scale: _Scale, row: Row, place: int, families: Sequence[str], currency: str) -> str:
    candidate = row.candidate
    x, y = scale.x(row.cost or 0.0), scale.y(candidate.throughput)
    colour = COLOURS[families.index(candidate.family) % len(COLOURS)]
    told = f"{place}: {candidate.name}: {number(candidate.throughput)} {candidate.unit}, {money(row.cost, currency)}"
    bar = ""
    if candidate.low is not None and candidate.high is not None:
        low, high = scale.y(candidate.low), scale.y(candidate.high)
        bar = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}" stroke="{colour}" stroke-width="2"/>'
    # A prediction is hollow.
    fill = "none" if candidate.predicted else colour
    return (
        f"<g><title>{escape(told)}</title>{bar}"
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}" fill="{fill}" stroke="{colour}" stroke-width="2"/>'
        f'<text x="{x + 9:.1f}" y="{y - 7:.1f}">{place}</text></g>'
    )


def _legend(families: Sequence[str]) -> Iterator[str]:
    if len(families) < 2:
        return
    yield '<p class="legend">'
    for place, family in enumerate(families):
        colour = COLOURS[place % len(COLOURS)]
        yield f'<span><i style="background:{colour}"></i>{escape(family)}</span>'
    yield "</p>"
