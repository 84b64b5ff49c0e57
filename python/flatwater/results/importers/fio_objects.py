"""The JSON objects that fio prints, and which of them are of one run.

With `--status-interval`, one run prints many. Several runs that were appended to one file (`fio ... >> out.json`) look
the same, but each began at another moment, has other options, or counts from zero again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import pydantic

from flatwater.errors import UserError
from flatwater.results.importers.imported import bad_line
from flatwater.results.importers.spans import damage_note, damaged

#: fio's directions, with the names of their metrics. sync has only latencies.
DIRECTIONS = ("read", "write", "trim")
#: Seconds by which the start of one run may differ between its objects: fio rounds both the time and what elapsed.
_START_S = 2
#: Of what was done before, growing by more than this share in no time is that of another run.
_GREW = 0.1
_NO_TIME_S = 0.001
#: A job that has ended is told some milliseconds shorter now and then: that is no new beginning.
_FELL = 0.95


#: The beginning of pydantic's name of an error -> what the field should be.
_EXPECTED = {
    "string": "a text",
    "list": "a list",
    "dict": "an object",
    "model": "an object",
    "int_parsing_size": "a number that fio can count to",
    "int": "a whole number",
    "float": "a number",
    "finite": "a number",
    "greater_than": "a number of 0 or more",
    "less_than": "a number that fio can count to",
}
_VALUE_LENGTH_MAX = 40

#: Bounded, because a damaged file may contain a number of any length.
Count = Annotated[int, pydantic.Field(ge=0, le=2**63 - 1)]
Number = Annotated[float, pydantic.Field(ge=0, le=2.0**63, allow_inf_nan=False)]


class Latency(pydantic.BaseModel):
    """Latencies of a direction, in the unit of their key."""

    max: Number = 0.0
    n: Count | None = pydantic.Field(None, alias="N")
    percentile: dict[float, Number] | None = None
    bins: dict[Count, Count] | None = None


class Direction(pydantic.BaseModel):
    """What a job read, wrote or trimmed; `runtime` in milliseconds."""

    io_bytes: Count = 0
    #: Only in fio 3. Without it, io_bytes is in KiB (fio 2).
    io_kbytes: Count | None = None
    iops: Number = 0.0
    #: From fio's own samples (iopsavgtime, 500 ms); only in fio 3.
    iops_min: Number | None = None
    iops_max: Number | None = None
    iops_stddev: Number | None = None
    iops_samples: Count = 0
    #: KiB/s, from fio's own samples (bwavgtime).
    bw_max: Number | None = None
    bw_samples: Count = 0
    runtime: Number = 0.0
    total_ios: Count = 0
    lat_ns: Latency | None = None
    clat_ns: Latency | None = None
    #: fio 2, microseconds.
    lat: Latency | None = None
    clat: Latency | None = None

    @property
    def bytes(self) -> int:
        """Bytes that it moved."""
        return self.io_bytes if self.io_kbytes is not None else self.io_bytes * 1024

    @property
    def latency(self) -> tuple[Latency, float] | None:
        """The latency with percentiles, and its unit in nanoseconds. Total latency is preferred: ours is the same."""
        for latency, unit_ns in ((self.lat_ns, 1), (self.clat_ns, 1), (self.lat, 1000), (self.clat, 1000)):
            if latency is not None and latency.percentile:
                return latency, unit_ns
        return None


class Job(pydantic.BaseModel):
    """A job, or a group of them (`group_reporting`)."""

    jobname: str
    #: Jobs of one group run at the same time; `stonewall` begins the next.
    groupid: int | None = None
    error: int = 0
    total_err: Count = 0
    options: dict[str, pydantic.JsonValue] = pydantic.Field(default_factory=dict, alias="job options")
    read: Direction = Direction()
    write: Direction = Direction()
    trim: Direction = Direction()
    sync: Direction = Direction()
    #: The sum over the threads of a group (`group_reporting`), and no length of time.
    job_runtime: Number | None = None
    #: Seconds since fio was started.
    elapsed: Count | None = None
    usr_cpu: Number | None = None
    sys_cpu: Number | None = None

    def directions(self) -> list[tuple[str, Direction]]:
        """The directions in which it moved something, with their names."""
        return [(name, getattr(self, name)) for name in DIRECTIONS if getattr(self, name).total_ios > 0]

    def did_something(self) -> bool:
        """Whether it ran and moved something."""
        return bool(self.directions()) and self.runtime_s > 0

    @property
    def runtime_s(self) -> float:
        """How long the job ran: of a group, its longest thread. One that waits for another has a job_runtime, too."""
        if not self.directions():
            return 0.0
        return (max(getattr(self, name).runtime for name in DIRECTIONS) or self.job_runtime or 0.0) / 1000


class Output(pydantic.BaseModel):
    """All that one report of fio says."""

    version: str = pydantic.Field("fio", alias="fio version")
    timestamp: int | None = None
    options: dict[str, pydantic.JsonValue] = pydantic.Field(default_factory=dict, alias="global options")
    jobs: list[Job] = []
    #: From `fio --client`: one entry for each job and host, then their sum.
    client_stats: list[Job] = []

    def runs(self) -> list[Job]:
        """Its jobs."""
        return self.jobs or [job for job in self.client_stats if job.jobname != "All clients"]

    @property
    def started_s(self) -> int | None:
        """When fio was started, in whole seconds since 1970; None if that is not told."""
        elapsed = [job.elapsed for job in self.runs() if job.elapsed]
        return self.timestamp - max(elapsed) if self.timestamp is not None and elapsed else None


#: Objects with the lines that they begin in.
Outputs = list[tuple[int, Output]]


def runs_of(numbered: Outputs) -> list[tuple[Outputs, list[str]]]:
    """The objects of each run of fio, in the order of the file, and what is to be told of those that are left out."""
    found: list[tuple[Outputs, list[str]]] = []
    for run in _parted(numbered, _is_of_another):
        # A time that is damaged falls, too, behind it.
        whole, notes = _believed(run)
        found += [(part, notes) for part in _parted(whole, _counts_anew)]
    return found


def _parted(numbered: Outputs, begins: Callable[[Output, Output], bool]) -> list[Outputs]:
    runs = [numbered[:1]]
    for (_, before), (line, now) in pairwise(numbered):
        if begins(before, now):
            runs.append([])
        runs[-1].append((line, now))
    return runs


def _is_of_another(before: Output, now: Output) -> bool:
    """Whether an object tells that it is not of the run that the object before it is of."""
    pairs = list(zip(before.runs(), now.runs(), strict=False))
    if before.version != now.version or before.options != now.options:
        return True
    if any(then.jobname != one.jobname or then.options != one.options for then, one in pairs):
        return True
    if any(_began_anew(then, one) for then, one in pairs):
        return True
    if (now.timestamp or 0) < (before.timestamp or 0):
        return True
    if before.started_s is None or now.started_s is None:
        return False
    return abs(now.started_s - before.started_s) > _START_S


def _counts_anew(before: Output, now: Output) -> bool:
    """Whether an object counts from zero again, without a clock that tells when its run began.

    At the end of a ramp time fio counts from zero again, too, and only there.
    """
    pairs = list(zip(before.runs(), now.runs(), strict=False))
    told = before.started_s is not None and now.started_s is not None
    ramped = "ramp_time" in now.options or any("ramp_time" in one.options for _, one in pairs)
    return not told and not ramped and any(one.runtime_s < _FELL * then.runtime_s for then, one in pairs)


def _began_anew(then: Job, now: Job) -> bool:
    """Whether a job did much, or less than before, in no time at all."""
    grew = sum(getattr(now, name).total_ios - getattr(then, name).total_ios for name in DIRECTIONS)
    done = sum(getattr(then, name).total_ios for name in DIRECTIONS)
    return abs(now.runtime_s - then.runtime_s) <= _NO_TIME_S < then.runtime_s and abs(grew) > max(1, _GREW * done)


def _believed(numbered: Outputs) -> tuple[Outputs, list[str]]:
    """The objects without those in which a job has run for a time that no clock gave, and the notes about them."""
    notes: list[str] = []
    for place in range(len(numbered[-1][1].runs())):
        having = [(line, one) for line, one in numbered if len(one.runs()) > place]
        times = [one.runs()[place].runtime_s for _, one in having]
        if wrong := [number - 1 for number in damaged([0.0, *times]) if number]:
            notes.append(damage_note(times, [line for line, _ in having], wrong))
            gone = {having[number][0] for number in wrong}
            numbered = [(line, one) for line, one in numbered if line not in gone]
    return numbered, notes


def _wrong(error: pydantic.ValidationError) -> str:
    """What is wrong with the first field that is not as fio writes it, which is named as `jq` does."""
    first = error.errors(include_url=False)[0]
    names = [name for name in first["loc"] if name != "[key]"]
    field = "".join(
        f"[{name}]" if isinstance(name, int) else f".{name}" if name.isidentifier() else f'."{name}"' for name in names
    )
    if first["type"] == "missing":
        return f"{field} is missing"
    expected = next((words for kind, words in _EXPECTED.items() if first["type"].startswith(kind)), "as fio writes it")
    value = first["input"]
    told = "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else json.dumps(value)
    told = told if len(told) <= _VALUE_LENGTH_MAX else f"{told[:_VALUE_LENGTH_MAX]}..."
    return f"{field} is {told}, and not {expected}"


def outputs(path: Path, text: str) -> Outputs:
    """Every JSON object that starts at the beginning of a line, and that line."""
    decoder = json.JSONDecoder()
    # Possessive: blanks without end are looked at once.
    begin = re.compile(r"^[^\S\n]*+,?+[^\S\n]*+(?=\{)", re.MULTILINE)
    found: Outputs = []
    at, line, counted = 0, 1, 0
    while match := begin.search(text, at):
        line += text.count("\n", counted, match.end())
        counted = match.end()
        try:
            raw, at = decoder.raw_decode(text, match.end())
        except json.JSONDecodeError as error:
            raise bad_line(path, error.lineno, "not JSON from here on") from None
        except ValueError:
            raise bad_line(path, line, "in the object that begins here, a number is too long") from None
        except RecursionError:
            raise bad_line(path, line, "JSON nested too deeply for fio's output") from None
        try:
            output = Output.model_validate(raw)
        except pydantic.ValidationError as error:
            raise bad_line(path, line, f"in the object that begins here, {_wrong(error)}") from None
        if not output.runs():
            raise bad_line(path, line, "the object that begins here has no jobs", "is it fio's output?")
        found.append((line, output))
    if not found:
        raise UserError("no JSON object in it", where=f"{path}:1", hint="run fio with --output-format=json")
    return found
