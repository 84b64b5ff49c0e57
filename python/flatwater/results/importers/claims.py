"""Which recording gives a series, where several have it.

Of different programs, the most exact one has the whole series. Recordings of one program are parts of one (rotated
files), so they are joined, unless they sampled at the same time: then they are of two machines, or one is a summary of
the other, and mixed they would be a series that nobody measured.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flatwater.results.importers.imported import Interval

#: A part that is rotated may have so many intervals of the part before it again.
_JOINT_MAX = 2


@dataclass(frozen=True)
class _Claim:
    """The intervals of a recording that has a series."""

    path: Path
    program: str
    starts: Sequence[float]
    ends: Sequence[float]

    def overlaps(self, interval: Interval) -> bool:
        """Whether it sampled in more than half of an interval, or of its own interval there."""
        place = bisect_right(self.ends, interval.start_s)
        while place < len(self.ends) and self.starts[place] < interval.end_s:
            start_s, end_s = self.starts[place], self.ends[place]
            both_s = min(end_s, interval.end_s) - max(start_s, interval.start_s)
            if both_s > min(end_s - start_s, interval.end_s - interval.start_s) / 2:
                return True
            place += 1
        return False


@dataclass
class Granted:
    """What of a recording is taken, and why the rest is not."""

    intervals: list[Interval] = field(default_factory=list)
    #: More exact program -> the series that are taken of it.
    more_exact: dict[str, set[str]] = field(default_factory=dict)
    #: Recording of the same program at the same time -> the series that are taken of it.
    same_time: dict[Path, set[str]] = field(default_factory=dict)
    #: Intervals that a part before it has, too.
    joint: int = 0


class Claims:
    """Grants series to recordings; those that are to be preferred come first."""

    def __init__(self) -> None:
        self._of_series: dict[str, list[_Claim]] = {}

    def grant(self, path: Path, program: str, intervals: Sequence[Interval]) -> Granted:
        """The intervals, which are in order, with the series that the recording may give."""
        granted = Granted()
        known: dict[Path, set[int]] = {}
        left_out: dict[str, set[int]] = {}
        everything = set(range(len(intervals)))
        for name in {name for interval in intervals for name in interval.metrics}:
            left_out[name] = set()
            for claim in self._of_series.get(name, []):
                if claim.program != program:
                    granted.more_exact.setdefault(claim.program, set()).add(name)
                    left_out[name] = everything
                    break
                if claim.path not in known:
                    known[claim.path] = {place for place, one in enumerate(intervals) if claim.overlaps(one)}
                joint = known[claim.path]
                if len(joint) > _JOINT_MAX or (joint and joint == everything):
                    granted.same_time.setdefault(claim.path, set()).add(name)
                    left_out[name] = everything
                    break
                left_out[name] = left_out[name] | joint
        joints = [places for places in left_out.values() if places is not everything]
        granted.joint = max((len(places) for places in joints), default=0)
        for place, interval in enumerate(intervals):
            metrics = {name: value for name, value in interval.metrics.items() if place not in left_out[name]}
            if metrics:
                granted.intervals.append(Interval(interval.start_s, interval.end_s, metrics))
        own = _Claim(path, program, [one.start_s for one in intervals], [one.end_s for one in intervals])
        for name in {name for interval in granted.intervals for name in interval.metrics}:
            self._of_series.setdefault(name, []).append(own)
        return granted
