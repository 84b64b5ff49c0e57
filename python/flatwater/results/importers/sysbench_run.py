"""One run of sysbench as it was read, and the time that each of its reports covers."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path

from flatwater.printing import counted
from flatwater.results.importers.imported import Interval, bad_line, time_goes_back
from flatwater.results.importers.samplers.sampler import Broken
from flatwater.results.importers.spans import damage_note, damaged

#: The version of a run whose head is not in its file.
UNKNOWN = "unknown"
#: Two reports of one second come of one that was late. Where more than these, and more than one in ten, have the same
#: time, two programs wrote into one file.
_TWICE_MAX, _TWICE_SHARE = 2, 10


@dataclass
class Run:
    """The parsed part of the file for one run."""

    line: int
    version: str
    #: Whether its head says that it runs a test.
    running: bool = False
    heading: dict[str, re.Match[str]] = field(default_factory=dict)
    totals: dict[str, float] = field(default_factory=dict)
    unit: str = ""
    open_loop: bool = False
    intervals: list[Interval] = field(default_factory=list)
    interval_s: float = 0.0
    failures: list[tuple[int, str]] = field(default_factory=list)
    #: The moment of its start, and whether its time zone is told.
    began: tuple[float, bool] | None = None
    has_year: bool = True
    #: Whether its reports are lines of CSV, which do not tell the percentile of their latency.
    is_csv: bool = False
    #: Reports that cannot be read, and the lines of these.
    broken: Broken = field(default_factory=Broken)
    left_out: list[int] = field(default_factory=list)
    #: How many checkpoints are announced (`--report-checkpoints`), and the totals before the last ones.
    checkpoints: int = 0
    earlier_totals: list[dict[str, float]] = field(default_factory=list)
    #: Whether its reports count errors, and the decimals of their latency: a report that ends earlier is torn.
    form: tuple[bool, int] | None = None

    def leave_out(self, number: int, what: str) -> None:
        """Notes a report that cannot be read."""
        self.broken.add(number, what)
        self.left_out.append(number)

    def add_total(self, name: str, value: float) -> None:
        """Takes a line of the totals: the first of its name, or with checkpoints the first of each block."""
        if name in self.totals and not self.checkpoints:
            return
        if name in self.totals:
            self.earlier_totals.append(self.totals)
            self.totals = {}
        self.totals[name] = value

    @property
    def measured(self) -> bool:
        """Whether it has reports, or totals, or what may have been one of them."""
        return bool(self.intervals or self.totals or self.broken.count)

    @property
    def is_run(self) -> bool:
        """Whether it is `sysbench run`: `prepare` and `cleanup` have a head, too, and measure nothing."""
        return self.measured or self.running or bool(self.failures)


def place(path: Path, run: Run) -> list[str]:
    """Gives the reports of a run their starts; what is told of those that are left out for their times.

    The rate of a report is over all the time since the one before it, so a late report begins where that one ended.
    What was left out between two is a gap, and no part of the report behind it. Errors: UserError where the times go
    back.
    """
    reports, notes = run.intervals, list[str]()
    times = [one.end_s for one in reports]
    gone = list(run.left_out)
    # They count from the start of the run, unless the head of the file was cut off.
    if wrong := [place - 1 for place in damaged([0.0, *times]) if place]:
        notes.append(damage_note(times, [one.line for one in reports], wrong))
        gone += [reports[place].line for place in wrong]
        run.intervals = [one for place, one in enumerate(reports) if place not in set(wrong)]
    notes += _leave_out_twice(path, run)
    if not run.intervals:
        return notes
    start_s = 0.0
    for one in run.intervals:
        if one.end_s <= start_s:
            raise time_goes_back(path, one.line, one.end_s)
        one.start_s = start_s
        start_s = one.end_s
    told = run.heading.get("interval")
    lengths = sorted(one.end_s - one.start_s for one in run.intervals)
    run.interval_s = lengths[len(lengths) // 2]
    most_s = min(run.interval_s, (float(told[1]) if told else 0.0) or run.interval_s)
    gone.sort()
    before = 0
    for one in run.intervals:
        # If the head of the file was cut off, the first report does not cover all the time before it.
        headless = not before and run.version == UNKNOWN
        if headless or bisect_right(gone, one.line) > bisect_right(gone, before):
            one.start_s = max(one.start_s, one.end_s - most_s)
        before = one.line
    return notes


def _leave_out_twice(path: Path, run: Run) -> list[str]:
    """Leaves out the second of two reports with one time, and says so.

    sysbench writes whole seconds: the second report covers a part of a second, and nothing tells how much of it.
    """
    kept: list[Interval] = []
    twice: list[Interval] = []
    for one in run.intervals:
        (twice if kept and kept[-1].end_s == one.end_s else kept).append(one)
    if not twice:
        return []
    if len(twice) > _TWICE_MAX and len(twice) * _TWICE_SHARE > len(run.intervals):
        what = f"{counted(len(twice), 'report')} have the time of the report before, the first {twice[0].end_s:g} s"
        raise bad_line(path, twice[0].line, what, "give each run a file of its own")
    run.intervals = kept
    more = f" (and {len(twice) - 1} more)" if twice[1:] else ""
    rate = twice[0].metrics.get("workload.throughput")
    rate_text = f" of {rate:,.4g} {run.unit}" if rate is not None else ""
    told = (
        f"{path.name}:{twice[0].line}: a second report{rate_text} at {twice[0].end_s:g} s{more} is left out: the one "
        "before it came late, and which part of a second this one covers is not told"
    )
    return [told]
