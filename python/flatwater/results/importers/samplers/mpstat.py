"""mpstat's text: the rows of all processors together. Source of the columns: mpstat(1) of sysstat."""

from __future__ import annotations

import re
from pathlib import Path

from flatwater.results.importers.samplers.day_orders import in_either_order
from flatwater.results.importers.samplers.hosts import OneHost
from flatwater.results.importers.samplers.sampler import (
    Broken,
    Recording,
    Sample,
    clean_lines,
    in_order,
    summed,
)
from flatwater.results.importers.samplers.stamps import DayClock, read_date, read_time

NAME = "mpstat"
#: Columns -> the metric; several of one metric are added. The kernel counts guests in user time already.
COLUMNS = {
    "%usr": "machine.cpu_user_pct",
    "%user": "machine.cpu_user_pct",
    "%nice": "machine.cpu_user_pct",
    "%sys": "machine.cpu_system_pct",
    "%system": "machine.cpu_system_pct",
    "%irq": "machine.cpu_system_pct",
    "%soft": "machine.cpu_system_pct",
    "%iowait": "machine.cpu_iowait_pct",
    "%steal": "machine.cpu_steal_pct",
    "%guest": "machine.cpu_user_pct",
    "%gnice": "machine.cpu_user_pct",
    "%idle": "machine.cpu_idle_pct",
    "intr/s": "machine.interrupts_per_s",
}
#: Where a processor is.
_TOPOLOGY = ("CORE", "SOCK", "NODE")
_ROW = re.compile(r"\s*(\d{1,2}:\d{2}:\d{2}(?:\s+[AaPp]\.?[Mm]\.?)?)\s+(\S.*)")
#: The mean at the end, in the language of the machine: Average:, Durchschn.:, Moyenne :
_AVERAGE = re.compile(r"[^\W\d]\S*\s?:\s+(?:all|CPU|NODE|\d{1,9})\s")


def recognises(path: Path, head: str) -> bool:
    """Whether a line is the heading of mpstat's table."""
    del path
    return any(_heading(line) is not None for line in head.splitlines())


def read(path: Path) -> Recording:
    """The samples of a file. Errors: UserError."""
    return in_either_order(path, _read)


def _read(path: Path, day_first: bool) -> Recording:
    names: list[str] = []
    unknown: set[str] = set()
    samples: list[Sample] = []
    broken, clock = Broken(), DayClock(0.0)
    dated = False
    host = OneHost()
    for number, line in host.lines(clean_lines(path)):
        if line.startswith("Linux") and (day := _day(line, day_first)) is not None:
            clock, dated = DayClock(day), True
        elif (heading := _heading(line)) is not None:
            # The rows of all processors together have blanks there (`-T`).
            names = [name for name in heading if name not in _TOPOLOGY]
            unknown |= {name for name in names if name not in COLUMNS}
            # Its time is that of the beginning of the interval: before midnight, the first row may be of the next day.
            begin_s = read_time(line.partition("CPU")[0])
            if begin_s is not None:
                clock.at(begin_s)
        elif _is_other_heading(line):
            names = []
        elif names and (row := _ROW.fullmatch(line)) is not None:
            words = row[2].split()
            if words[0] != "all":
                continue
            second = read_time(row[1])
            if second is None:
                broken.add(number)
            elif (values := broken.values(number, names, words[1:])) is not None:
                samples.append(Sample(clock.at(second), cpu_metrics(values), number))
        elif _AVERAGE.match(line):
            continue
        elif line.strip() and not line.startswith(("Linux", "\t")) and names and ":" not in line[:9]:
            broken.add(number)
    if not samples:
        raise broken.nothing(path, "no rows of all processors", "mpstat INTERVAL prints them")
    notes = broken.notes()
    samples = in_order(samples, notes)
    recording = Recording(NAME, "local", samples, notes=notes, unknown=sorted(unknown), has_day=dated)
    recording.host, recording.told = host.name, host.told
    return recording


def cpu_metrics(values: dict[str, float]) -> dict[str, float]:
    """The metrics of processors from the values of a row's columns."""
    # With %usr, sysstat subtracts the time of guests from the others.
    subtracted = "%usr" in values
    return summed(
        {name: value for name, value in values.items() if subtracted or name not in ("%guest", "%gnice")}, COLUMNS
    )


def _heading(line: str) -> list[str] | None:
    row = _ROW.fullmatch(line)
    words = row[2].split() if row is not None else []
    return words[1:] if words[:1] == ["CPU"] and "%idle" in words else None


def _is_other_heading(line: str) -> bool:
    """Whether a table of nodes (`-N`) or of interrupts (`-I`) begins: its rows are not those of processors' times."""
    row = _ROW.fullmatch(line)
    words = row[2].split() if row is not None else []
    return words[:1] == ["NODE"] or (words[:1] == ["CPU"] and not any(word.startswith("%") for word in words))


def _day(line: str, day_first: bool) -> float | None:
    return next((day for word in line.split() if (day := read_date(word, day_first)) is not None), None)
