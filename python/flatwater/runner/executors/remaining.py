"""Estimates the remaining time of a sweep from the time that its finished cells took.

The length of a cell is known: real seconds for a real cell, virtual seconds for a modelled one. The ratio of real time
to length is measured on the finished cells and on the finished part of the running ones, separately for both kinds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

#: A running cell with a smaller share done than this is not used for the estimate.
SHARE_MIN = 0.02


@dataclass
class _Kind:
    """The totals of the real cells, or of the modelled ones."""

    #: Length of the finished cells, and the real time that they took.
    length_s: float = 0.0
    took_s: float = 0.0
    #: Length of the cells that are not finished, and their number.
    left_s: float = 0.0
    cells: int = 0


@dataclass
class _UnderWay:
    """A running cell: the share that is done, and the real time that it took."""

    share: float
    took_s: float


@dataclass
class Remaining:
    """The remaining time of a course of cells."""

    #: The length of a cell, and whether it is real.
    length_s: Callable[[int], float]
    is_real: Callable[[int], bool]
    _kinds: dict[bool, _Kind] = field(default_factory=lambda: {True: _Kind(), False: _Kind()}, init=False)
    _under_way: dict[int, _UnderWay] = field(default_factory=dict, init=False)

    def expect(self, cells: Iterable[int]) -> None:
        """Adds cells that will run."""
        for index in cells:
            kind = self._kinds[self.is_real(index)]
            kind.left_s += self.length_s(index)
            kind.cells += 1

    def advance(self, index: int, share: float, took_s: float) -> None:
        """Notes the progress of a running cell: a share of 0..1 after `took_s` of real time."""
        self._under_way[index] = _UnderWay(min(1.0, share), took_s)

    def forget(self, index: int) -> None:
        """Removes the progress of a cell that will be started again."""
        self._under_way.pop(index, None)

    def finish(self, index: int, took_s: float | None) -> None:
        """Notes that a cell has finished after `took_s` of real time; None keeps it out of the estimate."""
        self._under_way.pop(index, None)
        kind, length_s = self._kinds[self.is_real(index)], self.length_s(index)
        kind.left_s -= length_s
        kind.cells -= 1
        if took_s is not None:
            kind.length_s += length_s
            kind.took_s += took_s

    @property
    def shares(self) -> tuple[float, ...]:
        """The progress of each running modelled cell, 0..1."""
        return tuple(one.share for index, one in self._under_way.items() if not self.is_real(index))

    def left_s(self, jobs: int) -> float | None:
        """Estimated seconds for the rest, with `jobs` modelled cells in parallel; None without any progress of them."""
        total_s = 0.0
        for real, kind in self._kinds.items():
            under_way = {index: one for index, one in self._under_way.items() if self.is_real(index) == real}
            if kind.cells <= 0:
                continue
            pace = self._pace(kind, under_way)
            if pace is None and not real:
                return None
            rests_s = [self.length_s(index) * (1 - one.share) for index, one in under_way.items()]
            done_s = sum(self.length_s(index) * one.share for index, one in under_way.items())
            # Real cells run one at a time. The total is never shorter than the longest single cell.
            left_s = max((kind.left_s - done_s) / (1 if real else max(1, min(jobs, kind.cells))), *rests_s, 0.0)
            total_s += left_s * (1.0 if pace is None else pace)
        return total_s

    def _pace(self, kind: _Kind, under_way: Mapping[int, _UnderWay]) -> float | None:
        """Real seconds for each second of a cell's length."""
        measured = {index: one for index, one in under_way.items() if one.share >= SHARE_MIN}
        length_s = kind.length_s + sum(self.length_s(index) * one.share for index, one in measured.items())
        took_s = kind.took_s + sum(one.took_s for one in measured.values())
        return took_s / length_s if length_s > 0 else None


class Countdown:
    """A remaining time that never grows: a display that jumps back misleads the user."""

    def __init__(self) -> None:
        self._shown_s = math.inf

    def to_show(self, left_s: float | None) -> float | None:
        """The time to show for a new estimate."""
        if left_s is None:
            return None
        self._shown_s = min(self._shown_s, left_s)
        return self._shown_s
