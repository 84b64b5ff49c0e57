"""The series that one cell recorded, thinned for drawing. They are read once, one at a time, so that a run of days
fits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flatwater.report.downsample import Line, lines
from flatwater.report.figure import Json
from flatwater.report.units import Scale, time_scale
from flatwater.results import Cell, Series

#: Buckets of a line on the page of one cell: more than a chart has pixel columns.
FINE_BUCKETS = 2000
#: Lines of the strips need fewer buckets: only their shape matters.
COARSE_SHARE = 0.5
#: No line has fewer buckets than this, however many cells share the page.
BUCKETS_MIN = 50
#: The most points of the lines of all cells together. This limits the size of the page (about 8 bytes a point).
POINTS_MAX = 850_000
#: Significant digits of a drawn value.
DIGITS = 5


@dataclass(frozen=True)
class Wanted:
    """The series that the charts draw, and how."""

    #: Drawn with the full number of buckets.
    fine: Collection[str]
    #: Drawn as strips.
    coarse: Collection[str]
    #: Groups that are stacked, and so need common times; their members are adjacent in sorted order.
    together: Iterable[Collection[str]]
    #: Recorded, but in no chart.
    undrawn: Collection[str]


@dataclass
class Recorded:
    """One cell's lines by `layer.metric`, and the span of its time axis."""

    cell: Cell
    lines: dict[str, Line]
    span_s: float
    #: The lines that no chart draws by name, sorted.
    unclaimed: list[str] = field(default_factory=list)
    #: Whether a line has fewer points than were recorded.
    thinned: bool = False
    clock: Scale = field(init=False)

    def __post_init__(self) -> None:
        self.clock = time_scale(self.span_s)

    def __contains__(self, series: str) -> bool:
        return series in self.lines

    def top(self, *series: str) -> float:
        """The highest sample of these series; 0 if there is none."""
        return max((self.lines[name].high for name in series if name in self.lines), default=0.0)

    def bottom(self, *series: str) -> float:
        """The lowest sample of these series; 0 if there is none."""
        return min((self.lines[name].low for name in series if name in self.lines), default=0.0)

    def bottom_positive(self, *series: str) -> float:
        """The lowest sample above zero of these series, for a logarithmic axis; 0 if there is none."""
        found = [self.lines[name].low_positive for name in series if name in self.lines]
        return min((low for low in found if np.isfinite(low)), default=0.0)

    @property
    def modelled_storage(self) -> bool:
        """Whether the storage was a model, so that its series come from the model."""
        if self.cell.summary is not None:
            return self.cell.summary.layers.get("storage", "").startswith("modelled")
        storage = self.cell.result.experiment.get("storage")
        return isinstance(storage, dict) and storage.get("kind", "file") != "file"

    @property
    def unit(self) -> str:
        """The unit of `workload.throughput`, as judged, otherwise as in the experiment; empty if neither is known."""
        if self.cell.summary is not None:
            return self.cell.summary.unit
        workload = self.cell.result.experiment.get("workload")
        unit = workload.get("unit") if isinstance(workload, dict) else None
        return unit if isinstance(unit, str) else ""

    def lines_as_json(self) -> Json:
        """The lines as `templates/charts.js` reads them: each line and each time axis once."""
        times, places = self._drawn_times()
        lines = {name: {"t": places[name], "v": encode_values(one.value)} for name, one in self.lines.items()}
        return {"times": times, "lines": lines}

    def _drawn_times(self) -> tuple[list[Json], dict[str, int]]:
        """The time axes of the lines, each once, and the axis of each line."""
        found: dict[bytes, int] = {}
        tables: list[Json] = []
        places: dict[str, int] = {}
        by_identity: dict[int, int] = {}
        for name, one in self.lines.items():
            if id(one.time_s) not in by_identity:
                raw = one.time_s.tobytes()
                if raw not in found:
                    found[raw] = len(tables)
                    tables.append(encode_times(one.time_s))
                by_identity[id(one.time_s)] = found[raw]
            places[name] = by_identity[id(one.time_s)]
        return tables, places


def read(cell: Cell, wanted: Wanted, buckets: int) -> Recorded:
    """Reads and thins every drawn series of a cell. Series without a finite sample are left out."""
    found: dict[str, Line] = {}
    groups = [frozenset(group) for group in wanted.together]
    held: dict[str, Series] = {}
    span_s = max((phase.end_s for phase in cell.phases), default=0.0)
    thinned = False

    def thin(block: dict[str, Series], fine: bool) -> None:
        count = max(BUCKETS_MIN, buckets if fine else int(buckets * COARSE_SHARE))
        names = list(block)
        nonlocal thinned
        # A group is stacked only at common times; a series with other times is drawn alone.
        common = all(np.array_equal(block[name].time_s, block[names[0]].time_s) for name in names[1:])
        for some in [names] if common else [[name] for name in names]:
            drawn = lines(block[some[0]].time_s, [block[name].value for name in some], count)
            thinned = thinned or len(drawn[0].time_s) < len(block[some[0]])
            found.update({name: one for name, one in zip(some, drawn, strict=True) if np.isfinite(one.high)})

    names = {f"{layer}.{metric}": (layer, metric) for layer, metric in cell.metrics()}
    for name, (layer, metric) in names.items():
        if name in wanted.undrawn:
            continue
        series = cell.series(layer, metric)
        if not len(series):
            continue
        span_s = max(span_s, float(series.time_s[-1]))
        group = next((group for group in groups if name in group), None)
        if group is None:
            thin({name: series}, name in wanted.fine)
            continue
        held[name] = series
        if held.keys() >= group & names.keys():
            thin({name: held.pop(name) for name in sorted(group & held.keys())}, name in wanted.fine)
    if held:
        thin(held, fine=False)
    return Recorded(cell, found, span_s, sorted(found.keys() - {*wanted.fine, *wanted.coarse}), thinned)


def buckets_for(cells: int, series: int) -> int:
    """Buckets of a fine line if `cells` cells with about `series` series each share a page."""
    return max(BUCKETS_MIN, min(FINE_BUCKETS, POINTS_MAX // max(1, 4 * cells * series)))


def encode_times(time_s: np.ndarray[Any, np.dtype[np.float64]]) -> Json:
    """Times as steps of a unit: `{unit, first, steps}`, or `{unit, first, count}` if all steps are 1.

    The unit is the usual interval if all times are multiples of it, otherwise a millisecond.
    """
    if not len(time_s):
        return {"unit": 1, "first": 0, "count": 0}
    steps = np.diff(time_s)
    unit = round(float(steps.min()), 3) if len(steps) and steps.min() >= 1e-3 else 1e-3
    ticks = np.round(time_s / unit)
    if np.abs(ticks * unit - time_s).max() > 1e-3:
        unit = 1e-3
        ticks = np.round(time_s / unit)
    whole = np.diff(ticks).astype(np.int64)
    head: Json = {"unit": unit, "first": int(ticks[0])}
    if (whole == 1).all():
        return {**head, "count": len(time_s)}
    return {**head, "steps": whole.tolist()}


def encode_values(value: np.ndarray[Any, np.dtype[np.float64]], digits: int = DIGITS) -> list[float | int | None]:
    """Values with few digits; a missing one is None. Whole numbers lose their `.0`, which is two bytes in three."""
    finite = np.isfinite(value)
    safe = np.where(finite, value, 0.0)
    with np.errstate(divide="ignore"):
        size = np.floor(np.log10(np.abs(safe)))
    power = np.clip(digits - 1 - np.where(np.isfinite(size), size, 0), -300, 300)
    # Divided, not multiplied by a negative power, so that 0.3 stays 0.3 and takes three bytes.
    factor = 10.0 ** np.abs(power)
    short = np.where(power >= 0, np.round(safe * factor) / factor, np.round(safe / factor) * factor)
    found: list[float | int | None] = [int(one) if one.is_integer() else one for one in short.tolist()]
    for place in np.flatnonzero(~finite).tolist():
        found[place] = None
    return found
