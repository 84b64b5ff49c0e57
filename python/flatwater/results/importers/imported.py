"""The output of every importer, and the reading of files and the errors that all importers share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from flatwater.errors import UserError
from flatwater.results.schema import Event, FieldValues, LatencyUs, MetricSummary, Phase

#: The warning about totals of which nobody tells over how many seconds they are.
NO_LENGTH = "the length of the test is not told"


@dataclass
class Interval:
    """One reported interval: seconds since the start of the run, and the reported values by `layer.metric`."""

    start_s: float
    end_s: float
    metrics: dict[str, float]
    #: The line of its file; 0 if it is of several.
    line: int = field(default=0, compare=False)


@dataclass
class Totals:
    """The figures of a run without intervals: it has no series.

    `figures` by `layer.metric`: the mean over the run, and the highest sample if the tool reports it. `stddev` and
    `samples` belong to the samples of the throughput that the tool took itself.
    """

    length_s: float
    figures: dict[str, MetricSummary]
    stddev: float | None = None
    samples: int = 0


@dataclass
class ImportedCell:
    """One run of another tool. A figure that the tool did not report is absent (None or not in the map), never zero."""

    label: str
    unit: str
    #: Empty if the tool reported only totals.
    intervals: list[Interval]
    #: The length of an interval, seconds.
    interval_s: float
    #: Replaces the intervals of such a run.
    totals_only: Totals | None = None
    #: Fields of an experiment that are in the tool's output, e.g. `workload.threads`.
    settings: FieldValues = field(default_factory=dict)
    layers: dict[str, str] = field(default_factory=dict)
    #: The phases before the intervals (the ramp-up). The intervals themselves are the measured phase.
    before: list[Phase] = field(default_factory=list)
    latency_us: LatencyUs | None = None
    latency_by_kind_us: dict[str, LatencyUs] = field(default_factory=dict)
    #: Latencies of the whole run by kind: (nanoseconds, count) pairs.
    buckets_ns: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    client_cpu_us_per_op: float | None = None
    operations: int = 0
    bytes: int = 0
    errors: int = 0
    warnings: list[str] = field(default_factory=list)
    #: How many lines of its files cannot be read, and the first of them; empty if all can.
    unread: list[str] = field(default_factory=list)
    #: Where a stall would not show: long readings, gaps and restarts, each with its place. Such a line is never flat.
    hidden: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    #: The tool's totals, as it printed them.
    totals: dict[str, JsonValue] = field(default_factory=dict)
    started_at: str = ""
    #: Further files with data of this run.
    used: list[Path] = field(default_factory=list)
    #: Files that say that they are of this run, and why they cannot be.
    rejected: dict[Path, str] = field(default_factory=dict)
    #: Intervals of other programs that sampled meanwhile, in the time of this run.
    others: list[Interval] = field(default_factory=list)
    #: The ramp-up before the totals, seconds.
    rampup_s: float = 0.0
    #: When the run began, seconds since 1970, and whether the time zone of that is known; None if it is not told.
    began: tuple[float, bool] | None = None
    #: Whether the year of that is told; else it is one of `stamps.NO_YEAR`.
    has_year: bool = True
    #: The names of the files that it was read from.
    files: list[str] = field(default_factory=list)


class Importer(Protocol):
    """One format. A module with these three members (its functions without `self`) is an importer."""

    NAME: str

    def recognises(self, path: Path, head: str) -> bool:
        """Whether a file with this name and this beginning has this format."""
        ...

    def read(self, paths: list[Path]) -> list[ImportedCell]:
        """The cells in files of this format. Errors: UserError with the file and the line that cannot be read."""
        ...


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers from 1."""
    return enumerate(text.splitlines(), 1)


def bad_line(path: Path, number: int, what: str, hint: str = "the file is damaged or truncated there") -> UserError:
    """The error for a line that cannot be read."""
    return UserError(what, where=f"{path}:{number}", hint=hint)


def time_goes_back(path: Path, line: int, at_s: float) -> UserError:
    """The error for a file in which the seconds since the beginning begin again, with another run."""
    return bad_line(path, line, f"time goes back to {at_s:.10g} s", "give each run a file of its own")
