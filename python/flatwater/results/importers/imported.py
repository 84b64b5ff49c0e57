"""The output of every importer, and the reading of files and the errors that all importers share."""

from __future__ import annotations

import codecs
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from flatwater.errors import UserError
from flatwater.results.schema import Event, FieldValues, LatencyUs, MetricSummary, Phase
from flatwater.spelling import guessed_path

#: The limit for text files. fio's per-IO logs are larger, and are read in another way.
TEXT_BYTES_MAX = 256 * 1024 * 1024
#: The size of a file's beginning that `auto` gives to each importer.
HEAD_BYTES = 64 * 1024
#: Byte order marks. That of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


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
    events: list[Event] = field(default_factory=list)
    #: The tool's totals, as it printed them.
    totals: dict[str, JsonValue] = field(default_factory=dict)
    started_at: str = ""
    #: Further files with data of this run.
    used: list[Path] = field(default_factory=list)
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


def why_no_file(mode: int) -> str:
    """Why something with this mode of `stat` is no file that can be read; empty for a file, and for a folder.

    What a pipe gives can be read once only, and one without a writer is waited for without end.
    """
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return ""
    return f"is {'a pipe' if stat.S_ISFIFO(mode) else 'a socket' if stat.S_ISSOCK(mode) else 'a device'}, not a file"


def read_head(path: Path) -> str:
    """The beginning of a text file. Errors: UserError for a file that cannot be read."""
    try:
        if why := why_no_file(path.stat().st_mode):
            raise UserError(why, where=str(path), hint="write it to a file first, and import that")
        with path.open("rb") as handle:
            head = handle.read(HEAD_BYTES)
    except IsADirectoryError:
        raise UserError("is a folder, not a file", where=str(path), hint="a flatwater result needs no import") from None
    except OSError as error:
        raise UserError(f"cannot read it: {error.strerror}", where=str(path), hint=guessed_path(path)) from None
    text = decoded(head)
    if not text.strip():
        raise UserError("the file is empty", where=str(path), hint="did the benchmark run to its end?")
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise UserError("binary, not the text that a benchmark prints", where=f"{path}:{line}")
    return text


def decoded(content: bytes) -> str:
    """The text of a file: UTF-8, or what its byte order mark says (PowerShell and Excel write others)."""
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    return content.decode(encoding, errors="replace")


def has_mark(path: Path) -> bool:
    """Whether a file begins with a byte order mark. Errors: OSError."""
    with path.open("rb") as handle:
        return handle.read(len(codecs.BOM_UTF32_LE)).startswith(tuple(mark for mark, _ in _MARKS))


def read_text(path: Path) -> str:
    """The text of a whole file. Errors: UserError for a file with NULs, or one that is too large."""
    read_head(path)
    try:
        if path.stat().st_size > TEXT_BYTES_MAX:
            raise UserError(f"larger than {TEXT_BYTES_MAX >> 20} MiB", where=str(path), hint="import parts of it")
        text = decoded(path.read_bytes())
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


def counted(number: int, noun: str) -> str:
    """A number of things: 1 sample, 2,000 samples."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
