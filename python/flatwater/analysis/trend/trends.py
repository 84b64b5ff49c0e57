"""The runs of each experiment and machine, in groups, and the changes of each figure over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from flatwater.analysis.change_points import P_MAX, Change, find_levels
from flatwater.analysis.figures import better_direction
from flatwater.analysis.trend.environment import Changed, what_changed
from flatwater.analysis.trend.runs import Run, RunCell
from flatwater.analysis.trend.same import machine_text, why_not_comparable
from flatwater.stores import shown

#: More reasons why two runs are not comparable are only counted.
_REASONS_MAX = 4


@dataclass(frozen=True)
class Shift:
    """A change of level of one figure, at the first run of the new level."""

    at: datetime
    run: str
    run_before: str
    #: The number of runs from this one to the newest, with both.
    newest_runs: int
    before: float
    after: float
    #: With the 95 % interval; None for levels of zero or below.
    change_pct: float | None
    low_pct: float | None
    high_pct: float | None
    #: How often noise alone looks so much like a change somewhere in the series.
    p: float
    #: None for a figure of which neither more nor less is better.
    worse: bool | None
    changed: list[Changed]


@dataclass(frozen=True)
class Line:
    """One figure of one setting over all runs that have it."""

    cell: str
    metric: str
    unit: str
    runs: int
    shifts: list[Shift]
    #: The noise of a run around its level.
    noise_pct: float | None
    #: The smallest step in the middle that is found in 95 of 100 such series.
    found_from_pct: float | None

    @property
    def regressed_newest_runs(self) -> int | None:
        """The number of runs since the last change, if that one was for the worse."""
        last = self.shifts[-1] if self.shifts else None
        return last.newest_runs if last is not None and last.worse else None


@dataclass(frozen=True)
class Trend:
    """The runs of one experiment on one machine, the oldest first."""

    name: str
    machine: str
    runs: list[str]
    first_at: datetime
    last_at: datetime
    #: A later group of the same name began after the last of these runs: the machine or the experiment was changed.
    superseded: bool
    lines: list[Line]


@dataclass(frozen=True)
class Trends:
    """All trends of some runs, in the order of their last runs, the newest last."""

    trends: list[Trend]
    #: Why runs of one experiment are not in one group: a sentence for each two groups that are nearest.
    apart: list[str]
    #: Path of a result -> why it is in no group.
    left_out: dict[str, str] = field(default_factory=dict)


def find_trends(
    runs: Sequence[Run], metrics: Sequence[str], *, last: int | None = None, p_max: float = P_MAX
) -> Trends:
    """The changes of each metric over the runs, in groups that repeat one experiment on one machine.

    `last`: only so many of the newest runs of each group.
    """
    groups: list[list[Run]] = []
    apart: list[str] = []
    for run in sorted(runs, key=lambda run: (run.at, str(run.path))):
        reasons = [(why_not_comparable(group[-1], run), group) for group in groups if group[-1].name == run.name]
        home = next((group for why, group in reasons if not why), None)
        if home is not None:
            home.append(run)
            continue
        if reasons:
            why, nearest = min(reasons, key=lambda one: len(one[0]))
            apart.append(_apart(nearest[-1], run, why))
        groups.append([run])
    groups.sort(key=lambda group: group[-1].at)
    trends = []
    for group in groups:
        newest = group[-1]
        superseded = any(other[0].name == newest.name and other[0].at > newest.at for other in groups)
        trends.append(_trend(group[-last:] if last else group, metrics, p_max, superseded=superseded))
    return Trends(trends, apart)


def _apart(earlier: Run, run: Run, why: Sequence[str]) -> str:
    more = len(why) - _REASONS_MAX
    listed = "; ".join([*why[:_REASONS_MAX], *([f"and {more} more"] if more > 0 else [])])
    return f"{shown(run.path)} is not comparable with {shown(earlier.path)}: they differ in {listed}"


def _trend(runs: Sequence[Run], metrics: Sequence[str], p_max: float, *, superseded: bool) -> Trend:
    keys = dict.fromkeys(key for run in runs for key in run.cells)
    lines = [line for key in keys for metric in metrics for line in _lines(runs, key, metric, p_max)]
    newest = runs[-1]
    return Trend(
        newest.name,
        machine_text(newest.machine),
        [shown(run.path) for run in runs],
        runs[0].at,
        newest.at,
        superseded,
        lines,
    )


def _lines(runs: Sequence[Run], key: str, metric: str, p_max: float) -> Iterator[Line]:
    """The line of a figure of a setting, if a run has it."""
    having = [run for run in runs if key in run.cells and metric in run.cells[key].figures]
    if not having:
        return
    cells = [run.cells[key] for run in having]
    levels = find_levels([cell.figures[metric] for cell in cells], p_max)
    edges = [0, *(change.index for change in levels.changes), len(having)]
    shifts = [
        _shift(having, cells, metric, change, range(edges[number], edges[number + 2]))
        for number, change in enumerate(levels.changes)
    ]
    unit = cells[-1].unit if metric in ("mean", "median", "stddev") else ""
    noise, found_from = (None if one is None else 100 * one for one in (levels.noise, levels.found_from))
    yield Line(cells[-1].label, metric, unit, len(having), shifts, noise, found_from)


def _shift(runs: Sequence[Run], cells: Sequence[RunCell], metric: str, change: Change, span: range) -> Shift:
    """A change of a figure of these runs; `span`: those between its neighbouring changes."""
    first = runs[change.index]
    direction = better_direction(metric)
    return Shift(
        at=first.at,
        run=shown(first.path),
        run_before=shown(runs[change.index - 1].path),
        newest_runs=len(runs) - change.index,
        before=change.before,
        after=change.after,
        change_pct=_pct(change.ratio),
        low_pct=_pct(change.low),
        high_pct=_pct(change.high),
        p=change.p,
        worse=None if direction is None else (change.after < change.before) == (direction == "higher"),
        changed=what_changed(runs, cells, change.index, span),
    )


def _pct(ratio: float | None) -> float | None:
    return None if ratio is None else 100 * (ratio - 1)


def newest_regressions(trends: Trends, newest: int) -> list[tuple[Trend, Line]]:
    """The lines whose last change was for the worse, among the newest runs. Superseded runs have no newest ones."""
    return [
        (trend, line)
        for trend in trends.trends
        if not trend.superseded
        for line in trend.lines
        if line.regressed_newest_runs is not None and line.regressed_newest_runs <= newest
    ]
