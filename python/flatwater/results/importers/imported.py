"""What every importer produces, and how every one reads a file and complains about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from flatwater.errors import UserError
from flatwater.results.schema import Event, FieldValues, LatencyUs, MetricSummary, Phase
from flatwater.spelling import guessed_path

#: Larger text is not the output of a benchmark but a mistake; per-IO logs of fio are read in another way.
TEXT_BYTES_MAX = 256 * 1024 * 1024
#: What `auto` shows to each importer.
HEAD_BYTES = 64 * 1024


@dataclass
class Interval:
    """One interval as reported: seconds since the run's first moment, and `layer.metric` values that were reported."""

    start_s: float
    end_s: float
    metrics: dict[str, float]


@dataclass
class Totals:
    """A run of which only figures of the whole are known: it has no line, so nothing is said of one.

    `figures` by `layer.metric`: the mean over the run, and the highest sample where the tool told it. `stddev` and
    `samples` are of the throughput's samples that the tool took itself.
    """

    length_s: float
    figures: dict[str, MetricSummary]
    stddev: float | None = None
    samples: int = 0


@dataclass
class ImportedCell:
    """One run that another tool measured. What it did not report is absent (None or not in the map), never zero."""

    label: str
    unit: str
    #: Empty where the tool told only totals.
    intervals: list[Interval]
    #: The length of an interval, seconds.
    interval_s: float
    #: In place of intervals.
    totals_only: Totals | None = None
    #: Fields of an experiment that the tool's output tells, e.g. `workload.threads`.
    settings: FieldValues = field(default_factory=dict)
    layers: dict[str, str] = field(default_factory=dict)
    #: Phases before the intervals (the ramp-up); the intervals themselves are the measured phase.
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
    events: list[Event] = field(default_factory=list)
    #: The tool's own totals, kept as it printed them.
    totals: dict[str, JsonValue] = field(default_factory=dict)
    started_at: str = ""
    #: Further files that it was read from.
    used: list[Path] = field(default_factory=list)


class Importer(Protocol):
    """One format. A module with these three (its functions without `self`) is one."""

    NAME: str

    def recognises(self, path: Path, head: str) -> bool:
        """Whether a file of this name that begins with `head` is of this format."""
        ...

    def read(self, paths: list[Path]) -> list[ImportedCell]:
        """The cells in files of this format; UserError names the file and line that cannot be read."""
        ...


def read_head(path: Path) -> str:
    """The beginning of a text file; UserError when there is none to read."""
    try:
        with path.open("rb") as handle:
            head = handle.read(HEAD_BYTES)
    except IsADirectoryError:
        raise UserError("is a folder, not a file", where=str(path), hint="a flatwater result needs no import") from None
    except OSError as error:
        raise UserError(f"cannot read it: {error.strerror}", where=str(path), hint=guessed_path(path)) from None
    if not head.strip():
        raise UserError("the file is empty", where=str(path), hint="did the benchmark run to its end?")
    if b"\0" in head:
        line = head[: head.index(b"\0")].count(b"\n") + 1
        raise UserError("binary, not the text that a benchmark prints", where=f"{path}:{line}")
    return head.decode("utf-8", errors="replace")


def read_text(path: Path) -> str:
    """A whole text file, without NULs; UserError otherwise."""
    read_head(path)
    try:
        if path.stat().st_size > TEXT_BYTES_MAX:
            raise UserError(f"larger than {TEXT_BYTES_MAX >> 20} MiB", where=str(path), hint="import parts of it")
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"cannot read it: {error.strerror}", where=str(path), hint=guessed_path(path)) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise UserError("binary data in the text: the file is damaged", where=f"{path}:{line}")
    return text


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers from 1."""
    return enumerate(text.splitlines(), 1)


def bad_line(path: Path, number: int, what: str, hint: str = "the file is damaged or truncated there") -> UserError:
    """The error for a line that cannot be read."""
    return UserError(what, where=f"{path}:{number}", hint=hint)
