"""How long the rest of a sweep takes, by what the cells that ran took.

A cell's own length is known: seconds of this world for a real cell, of virtual time for a modelled one. What they take
in this world is calibrated from the cells that ran, and from those under way as far as they are; both kinds apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

#: Of a cell under way, less than this says nothing of the rest.
SHARE_MIN = 0.02


@dataclass
class _Kind:
    """What is known of the real cells, or of the modelled ones."""

    #: Seconds of the cells themselves that are over, and what they took in this world.
    length_s: float = 0.0
    took_s: float = 0.0
    #: Of the cells that are not over, and how many they are.
    left_s: float = 0.0
    cells: int = 0


@dataclass
class _UnderWay:
    """A cell that runs: how far it is, and what that took."""

    share: float
    took_s: float


@dataclass
class Remaining:
    """What is left of a course of cells."""

    #: How long a cell is, and whether it is real.
    length_s: Callable[[int], float]
    is_real: Callable[[int], bool]
    _kinds: dict[bool, _Kind] = field(default_factory=lambda: {True: _Kind(), False: _Kind()}, init=False)
    _under_way: dict[int, _UnderWay] = field(default_factory=dict, init=False)

    def expect(self, cells: Iterable[int]) -> None:
        """These are to be run."""
        for index in cells:
            kind = self._kinds[self.is_real(index)]
            kind.left_s += self.length_s(index)
            kind.cells += 1

    def advance(self, index: int, share: float, took_s: float) -> None:
        """A cell is so far, 0..1, after `took_s` in this world."""
        self._under_way[index] = _UnderWay(min(1.0, share), took_s)

    def forget(self, index: int) -> None:
        """A cell is to be begun anew."""
        self._under_way.pop(index, None)

    def finish(self, index: int, took_s: float | None) -> None:
        """A cell is over, after `took_s` in this world; None for one that tells nothing of the others."""
        self._under_way.pop(index, None)
        kind, length_s = self._kinds[self.is_real(index)], self.length_s(index)
        kind.left_s -= length_s
        kind.cells -= 1
        if took_s is not None:
            kind.length_s += length_s
            kind.took_s += took_s

    @property
    def shares(self) -> tuple[float, ...]:
        """How far the modelled cells are that run."""
        return tuple(one.share for index, one in self._under_way.items() if not self.is_real(index))

    def left_s(self, jobs: int) -> float | None:
        """Seconds for the rest with so many modelled cells at once; None while nothing is known of them."""
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
            # Real cells have the machine for themselves; and nothing ends sooner than its longest cell.
            left_s = max((kind.left_s - done_s) / (1 if real else max(1, min(jobs, kind.cells))), *rests_s, 0.0)
            total_s += left_s * (1.0 if pace is None else pace)
        return total_s

    def _pace(self, kind: _Kind, under_way: Mapping[int, _UnderWay]) -> float | None:
        """Seconds of this world for one of a cell's own."""
        told = {index: one for index, one in under_way.items() if one.share >= SHARE_MIN}
        length_s = kind.length_s + sum(self.length_s(index) * one.share for index, one in told.items())
        took_s = kind.took_s + sum(one.took_s for one in told.values())
        return took_s / length_s if length_s > 0 else None


class Countdown:
    """A time left that never grows: who sees it counts on it."""

    def __init__(self) -> None:
        self._told_s = math.inf

    def tell(self, left_s: float | None) -> float | None:
        """What to show for an estimate."""
        if left_s is None:
            return None
        self._told_s = min(self._told_s, left_s)
        return self._told_s
