"""What was recorded of some series, in few parts, however long the run is."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

#: Parts that are kept. Once there are more, every two become one. Twice what a wide terminal shows.
PARTS_MAX = 512
#: So many intervals fill the width of a chart; fewer begin at its left.
INTERVALS_WIDE = 30

#: The lowest and the highest sample of a stretch.
Span = tuple[float, float]


class History:
    """The lowest and the highest sample of each series, in equal parts of the intervals so far."""

    def __init__(self, wanted: Collection[str]) -> None:
        self._wanted = tuple(wanted)
        self.clear()

    def clear(self) -> None:
        """Forgets everything: another cell begins."""
        self._parts: list[dict[str, Span]] = []
        #: Intervals of each part, and those of the last part so far.
        self._stride = 1
        self._filled = 0
        #: The last sample of each series.
        self.last: dict[str, float] = {}
        #: The end of the first interval and of the last one, seconds of the cell's time.
        self.first_s = 0.0
        self.last_s = 0.0

    def __bool__(self) -> bool:
        return bool(self._parts)

    def __contains__(self, series: str) -> bool:
        return any(series in part for part in self._parts)

    def add(self, time_s: float, metrics: Mapping[str, float | None]) -> None:
        """Takes an interval that ended at `time_s`."""
        if not self._parts:
            self.first_s = time_s
            self._parts.append({})
        elif self._filled == self._stride:
            if len(self._parts) == PARTS_MAX:
                self._halve()
            self._parts.append({})
            self._filled = 0
        self.last_s = time_s
        self._filled += 1
        self.last = {}
        for name in self._wanted:
            value = metrics.get(name)
            if value is not None and math.isfinite(value):
                self.last[name] = value
                _widen(self._parts[-1], name, (value, value))

    def _halve(self) -> None:
        merged = self._parts[::2]
        for part, next_part in zip(merged, self._parts[1::2], strict=True):
            for name, span in next_part.items():
                _widen(part, name, span)
        self._parts = merged
        self._stride *= 2

    def top(self, *series: str) -> float:
        """The highest sample of some series; 0 without one."""
        return max((part[name][1] for part in self._parts for name in series if name in part), default=0.0)

    def spans(self, series: str, columns: int) -> list[Span | None]:
        """A series in so many columns from left to right; None where nothing was recorded."""
        places = max(len(self._parts), INTERVALS_WIDE // self._stride)
        found: list[Span | None] = []
        recorded = [part.get(series) for part in self._parts]
        for column in range(columns):
            begin = column * places // columns
            end = max(begin + 1, (column + 1) * places // columns)
            found.append(_together([span for span in recorded[begin:end] if span is not None]))
        return found


def _together(spans: Sequence[Span]) -> Span | None:
    if len(spans) < 2:
        return spans[0] if spans else None
    return min(low for low, _ in spans), max(high for _, high in spans)


def _widen(part: dict[str, Span], name: str, span: Span) -> None:
    before = part.get(name, span)
    part[name] = min(before[0], span[0]), max(before[1], span[1])
