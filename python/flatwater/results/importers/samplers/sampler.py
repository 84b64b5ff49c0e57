"""What a program that samples a machine or a server leaves: its samples, and on which clock they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol

from flatwater.errors import UserError
from flatwater.printing import counted
from flatwater.results.importers.figures import count_of, has_thousands, number_of, plain
from flatwater.results.importers.spans import damage_note, damaged, usual_interval
from flatwater.results.importers.texts import read_text

#: `epoch`: seconds since 1970, UTC. `local`: the same on a clock whose time zone the file does not tell. `none`: the
#: file has no times; seconds since its beginning, or numbers of intervals if `interval_s` is None.
Clock = Literal["epoch", "local", "none"]

#: A clock that goes back by at least this was set back (the end of summer time); by less, a line is out of order.
_SET_BACK_S = 1800.0
#: Two hours: a clock that was set by one is no damage.
_SET_MAX_S = 7200.0


@dataclass
class Sample:
    """The figures of one interval, which ends at `at_s`, by `layer.metric`."""

    at_s: float
    metrics: dict[str, float]
    #: The line of the file that tells its time; 0 if none is known.
    line: int = field(default=0, compare=False)
    #: How long its interval is, where the figures tell; else it begins with the sample before it.
    length_s: float | None = field(default=None, compare=False)


@dataclass
class Recording:
    """The samples of one file."""

    tool: str
    clock: Clock
    samples: list[Sample]
    #: Seconds; None if the file does not tell.
    interval_s: float | None = None
    #: Samples of each block device, with the names of the layer `storage`.
    devices: dict[str, list[Sample]] = field(default_factory=dict)
    #: The same with the day first in its dates, where these may be month/day or day/month; else None.
    day_first: Recording | None = None
    #: Whether its times tell the year; else it is one of `stamps.NO_YEAR`.
    has_year: bool = True
    #: Whether they tell the day; else they count from the midnight before the first.
    has_day: bool = True
    #: Whether its times only repeat the interval that it was told to keep: a reading that came late looks like any.
    is_counted: bool = False
    #: The unit of `workload.throughput`, if the samples have it.
    unit: str = ""
    #: What was assumed or left out, a sentence each.
    notes: list[str] = field(default_factory=list)
    #: What of it is a warning of the result, too, a sentence each.
    told: list[str] = field(default_factory=list)
    #: The host that it is of; empty if the file does not tell.
    host: str = ""
    #: Columns or counters that are not taken.
    unknown: list[str] = field(default_factory=list)
    #: Metrics that are counts of an interval of unknown length; once the user tells that, they are rates.
    counts: frozenset[str] = frozenset()

    @property
    def times(self) -> list[float]:
        """The ends of all intervals, in order."""
        found = {sample.at_s for one in (self.samples, *self.devices.values()) for sample in one}
        return sorted(found)

    def scale(self, every_s: float | None) -> float:
        """By how much its times are stretched where the user says how far apart its samples are. Times that the file
        tells are never stretched.
        """
        return every_s / self.interval_s if every_s and self.interval_s and self.is_counted else 1.0

    def spaced(self, samples: Sequence[Sample], step_s: float, *, is_told: bool) -> list[Sample]:
        """Samples of it with `step_s` seconds between those that have numbers for times.

        Counts become rates if somebody told these seconds. If the seconds are assumed, counts are left out.
        """

        def placed(sample: Sample) -> Sample:
            metrics = {name: value for name, value in sample.metrics.items() if name not in self.counts}
            if is_told:
                metrics |= {name: value / step_s for name, value in sample.metrics.items() if name in self.counts}
            length_s = None if sample.length_s is None else sample.length_s * step_s
            return replace(sample, at_s=sample.at_s * step_s, metrics=metrics, length_s=length_s)

        return [placed(sample) for sample in samples]


class Sampler(Protocol):
    """One program's output. A module with these members (its functions without `self`) is a sampler."""

    NAME: str

    def recognises(self, path: Path, head: str) -> bool:
        """Whether a file with this name and this beginning has this format."""
        ...

    def read(self, path: Path) -> Recording:
        """The samples of a file. Errors: UserError if it has none, with the file and the line."""
        ...


class Broken:
    """Counts the lines that cannot be read: they are left out, and told."""

    def __init__(self) -> None:
        self.count = 0
        #: The first of them, and what is wrong with it, if that was told.
        self.first: tuple[int, str] | None = None
        self._has_commas = self._has_thousands = False
        #: Values that cannot be read in lines that can, and the line of the first.
        self._values = 0
        self._first_value = 0

    def add(self, number: int, what: str = "") -> None:
        """Notes a line, and what is wrong with it."""
        self.first = self.first or (number, what)
        self.count += 1

    def add_value(self, number: int, text: str) -> None:
        """Notes a value that cannot be read in a line that can; what is empty was not measured."""
        if text.strip() not in ("", "-"):
            self._values += 1
            self._first_value = self._first_value or number

    def values(self, number: int, names: Sequence[str], texts: Sequence[str]) -> dict[str, float] | None:
        """The numbers of a row by their columns; None if the row has others, and the line is then noted."""
        values = [value for text in texts if (value := number_of(text)) is not None]
        if len(texts) != len(names) or len(values) != len(names):
            self.add(number)
            return None
        self._has_commas = self._has_commas or any("," in text for text in texts)
        return dict(zip(names, values, strict=True))

    def whole(self, text: str) -> float | None:
        """A number of things, whose thousands may be apart; None if it is none."""
        self._has_thousands = self._has_thousands or has_thousands(text)
        return count_of(text)

    def plain(self, text: str) -> str:
        """A line of text with plain figures."""
        found, thousands, commas = plain(text)
        self._has_thousands, self._has_commas = self._has_thousands or thousands, self._has_commas or commas
        return found

    def nothing(self, path: Path, what: str, hint: str | None = None) -> UserError:
        """The error for a file of which nothing can be taken, at the first line that cannot be read."""
        if self.first is None:
            return UserError(what, where=f"{path}:1", hint=hint)
        number, why = self.first
        return UserError(f"{why or 'this line cannot be read'}; {what}", where=f"{path}:{number}", hint=hint)

    def notes(self) -> list[str]:
        """The notes about them, and about decimal commas; empty if there are none."""
        found = []
        if self.first is not None:
            many = "s" if self.count > 1 else ""
            found.append(f"{self.count} line{many} that cannot be read left out, first line {self.first[0]}")
        if self._values:
            many = "s" if self._values > 1 else ""
            found.append(f"{self._values} value{many} that cannot be read left out, first line {self._first_value}")
        if self._has_commas:
            found.append("decimal commas are read as points")
        if self._has_thousands:
            found.append("what keeps thousands apart is left out: 1,234 is 1234")
        return found


def clean_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with their numbers. Errors: UserError."""
    yield from enumerate(read_text(path).splitlines(), 1)


def summed(pairs: Mapping[str, float], columns: Mapping[str, str]) -> dict[str, float]:
    """The metrics of a row's values; the values of all columns that belong to one metric are added."""
    metrics: dict[str, float] = {}
    for column, value in pairs.items():
        if (name := columns.get(column)) is not None:
            metrics[name] = metrics.get(name, 0.0) + value
    return metrics


def all_in_order(
    samples: list[Sample], devices: Mapping[str, list[Sample]], notes: list[str]
) -> tuple[list[Sample], dict[str, list[Sample]]]:
    """The same of a recording's own samples and those of its devices. What several have to tell is told once."""
    told: list[str] = []
    own = in_order(samples, told)
    of_devices = {name: in_order(one, told) for name, one in devices.items() if one}
    notes += list(dict.fromkeys(told))
    return own, of_devices


def in_order(samples: list[Sample], notes: list[str]) -> list[Sample]:
    """The samples with times that only grow. A clock that was set back goes on; what is out of order is left out."""
    found: list[Sample] = []
    offset_s, left_out, set_back = 0.0, 0, 0
    samples = believed(samples, notes)
    usual = usual_interval([sample.at_s for sample in samples]) or 1.0
    for sample in samples:
        at_s = sample.at_s + offset_s
        if found and at_s <= found[-1].at_s:
            back_s = found[-1].at_s - at_s
            if back_s < _SET_BACK_S:
                left_out += 1
                continue
            offset_s += back_s + usual
            at_s, set_back = sample.at_s + offset_s, set_back + 1
        found.append(replace(sample, at_s=at_s))
    if set_back:
        notes.append("its clock was set back (summer time?): the seconds after that go on")
    if left_out:
        notes.append(f"{counted(left_out, 'sample')} out of order left out")
    return found


def believed(samples: list[Sample], notes: list[str]) -> list[Sample]:
    """The samples without those whose times no clock gave; these are told."""
    times = [sample.at_s for sample in samples]
    if not (wrong := damaged(times, least_s=_SET_MAX_S)):
        return samples
    notes.append(damage_note(times, [sample.line for sample in samples], wrong))
    gone = set(wrong)
    return [sample for place, sample in enumerate(samples) if place not in gone]
