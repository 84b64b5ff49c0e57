"""A part of a cell's time: whoever zooms into a chart gets the points of what he looks at."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from flatwater.report.charts import CellChart, wanted_by
from flatwater.report.drawing import buckets_of
from flatwater.report.html import seen
from flatwater.report.recorded import read
from flatwater.results import Cell, Event, Phase, Series


class Span(Cell):
    """A part of the time of a cell, as the report's charts read a cell."""

    def __init__(self, cell: Cell, start_s: float, end_s: float) -> None:
        super().__init__(cell.result, cell.plan, cell.summary)
        self._cell = cell
        self._ends = (start_s, end_s)

    @property
    def phases(self) -> list[Phase]:
        """The phases of the whole cell: they tell what is measured."""
        return self._cell.phases

    @property
    def events(self) -> list[Event]:
        """The events of the whole cell."""
        return self._cell.events

    def metrics(self) -> list[tuple[str, str]]:
        """The (layer, metric) pairs of the cell."""
        return self._cell.metrics()

    def series(self, layer: str, metric: str) -> Series:
        """One series in the span, with the samples around it, so that lines reach the edges."""
        found = self._cell.series(layer, metric)
        first, last = np.searchsorted(found.time_s, self._ends)
        part = slice(max(0, int(first) - 1), int(last) + 1)
        return Series(found.time_s[part], found.value[part])


def lines_within(cell: Cell, start_s: float, end_s: float, charts: Sequence[CellChart]) -> bytes:
    """The lines that `charts` draw of a span, with as many points as a whole cell has otherwise: JSON.

    Errors: FlatwaterError for series that cannot be read.
    """
    span, wanted = Span(cell, start_s, end_s), wanted_by(charts)
    recorded = read(span, wanted, buckets_of([span], wanted))
    found = {"cell": cell.index, **recorded.lines_as_json()}
    return json.dumps(seen(found), separators=(",", ":"), allow_nan=False).encode()
