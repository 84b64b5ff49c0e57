"""Latency of every request of the measured phase."""

from __future__ import annotations

import base64
import binascii
import math

from flatwater.report.charts.chart import CellChart
from flatwater.report.charts.transactions import COLOURS, NAMES
from flatwater.report.figure import BLUE, FAINT, GREEN, INK, ORANGE, SKY, Figure, Json, latency_ticks
from flatwater.report.recorded import Recorded
from flatwater.report.units import microseconds

KIND_COLOURS = {"all": INK, "read": BLUE, "write": ORANGE, "fsync": GREEN, **COLOURS, "connect": SKY}
#: Bars per factor of ten: narrow enough to show two peaks, wide enough to hold several buckets of the HdrHistogram.
BARS_PER_DECADE = 20
PERCENTILES = (("p50", "p50"), ("p95", "p95"), ("p99", "p99"), ("p999", "p99.9"))
#: Labels that are closer together than this share of the axis would overlap.
LABEL_SHARE = 0.05


class LatencyHistogram(CellChart):
    """How many requests fell into each range of latency, with a mark at each percentile if the cell finished."""

    name = "histogram"
    order = 300
    description = (
        "The time that the requests or transactions of the measured phase took. Both axes are logarithmic, so that a "
        "slow one in a million still has a bar."
    )

    def draw(self, recorded: Recorded) -> list[Figure]:
        summary, histograms = recorded.cell.summary, recorded.cell.histograms
        # If there is one kind of request, `all` is that kind.
        kinds = [kind for kind in KIND_COLOURS if kind in histograms]
        what = "transactions" if histograms.keys() & NAMES.keys() else "requests"
        if len(kinds) == 2 and kinds[0] == "all" and kinds[1] != "connect":
            kinds = kinds[:1]
        bars = {kind: shares(histograms[kind]) for kind in kinds}
        bars = {kind: found for kind, found in bars.items() if found}
        if not bars:
            return []
        every = [share for found in bars.values() for share in found.values()]
        places = [place for found in bars.values() for place in found]
        low, high = min(places) / BARS_PER_DECADE, (max(places) + 1) / BARS_PER_DECADE
        room = max(0.05, (0.4 - (high - low)) / 2)
        floor = math.log10(min(every)) - 0.3
        layout: Json = {
            "xaxis": {
                "type": "log",
                "range": [low - room, high + room],
                "title": {"text": "latency"},
                **latency_ticks(low - room, high + room),
            },
            "yaxis": {
                "type": "log",
                # The decade above the bars is for the names of the percentiles.
                "range": [floor, math.log10(max(every)) + 1.0],
                "title": {"text": f"{what}, % a bar"},
                "tickformat": "~r",
                "ticksuffix": " %",
                "dtick": 1,
            },
            "hovermode": "closest",
            "showlegend": True,
        }
        if summary is not None and summary.latency_us is not None:
            layout |= _percentile_marks(summary.latency_us.model_dump(), high - low + 2 * room)
        data = [
            _steps(kind, what, found, 10**floor, filled=place == 0) for place, (kind, found) in enumerate(bars.items())
        ]
        return [Figure(self.name, "Latency histogram", self.description, data, layout, 340)]


def shares(encoded: str) -> dict[int, float]:
    """The percentage of the requests in each bar; bar `i` is from 10^(i/20) to 10^((i+1)/20) seconds.

    `encoded` is base64 of an HdrHistogram (V2, deflate) of nanoseconds. The result is empty if the histogram is empty,
    or if it is damaged, so that the rest of the page is still shown.
    """
    from flatwater._engine import Histogram

    try:
        buckets = Histogram.from_v2(base64.b64decode(encoded, validate=True)).buckets()
    except (ValueError, binascii.Error):
        return {}
    total = sum(count for _, count in buckets)
    found: dict[int, float] = {}
    for edge_ns, count in buckets:
        place = math.floor(math.log10(max(edge_ns, 1) * 1e-9) * BARS_PER_DECADE)
        found[place] = found.get(place, 0.0) + count
    return {place: 100.0 * count / total for place, count in sorted(found.items())}


def _steps(kind: str, what: str, found: dict[int, float], floor: float, *, filled: bool) -> Json:
    # An empty bar ends at the edge of the drawing, because zero is infinitely far away on a logarithmic axis.
    x = [10 ** (min(found) / BARS_PER_DECADE)]
    y = [floor]
    for place in range(min(found), max(found) + 1):
        x += [10 ** (place / BARS_PER_DECADE), 10 ** ((place + 1) / BARS_PER_DECADE)]
        y += [found.get(place, floor)] * 2
    x.append(x[-1])
    y.append(floor)
    name = f"all {what}" if kind == "all" else NAMES.get(kind, kind)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [float(f"{one:.5g}") for one in x],
        "y": [float(f"{one:.4g}") for one in y],
        "line": {"color": KIND_COLOURS[kind], "width": 1.5},
        **({"fill": "tozeroy", "fillcolor": "rgba(107,107,107,0.15)"} if filled else {}),
        "hovertemplate": f"%{{x:.3s}}s: %{{y:.3~r}} %<extra>{name}</extra>",
    }


def _percentile_marks(latency_us: dict[str, float | None], span: float) -> Json:
    shapes: list[Json] = []
    notes: list[Json] = []
    place = -math.inf
    for field, word in PERCENTILES:
        value = latency_us[field]
        if not value or not math.isfinite(value):
            continue
        x = value * 1e-6
        shapes.append(
            {"type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1}
            | {"line": {"color": FAINT, "width": 1, "dash": "dot"}}
        )
        if math.log10(x) - place < LABEL_SHARE * span:
            continue
        place = math.log10(x)
        notes.append(
            # The position of an annotation on a logarithmic axis is its exponent.
            {"x": place, "xref": "x", "y": 1, "yref": "paper", "yanchor": "top", "xanchor": "left"}
            | {"text": f"{word}<br>{microseconds(value)}", "showarrow": False, "align": "left"}
            | {"font": {"size": 11, "color": INK}}
        )
    return {"shapes": shapes, "annotations": notes}
