"""iostat's text: devices (with `-x` or without) and processors, with `-t` or without.

Its first report is the mean since boot, and is left out. Source of the columns: iostat(1) of sysstat, whose names
changed over the years.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from flatwater.results.importers.samplers.day_orders import in_either_order
from flatwater.results.importers.samplers.headings import starts_note
from flatwater.results.importers.samplers.hosts import OneHost
from flatwater.results.importers.samplers.sampler import (
    Broken,
    Clock,
    Recording,
    Sample,
    all_in_order,
    clean_lines,
    summed,
)
from flatwater.results.importers.samplers.stamps import DayClock, read_date, read_stamp, read_time

NAME = "iostat"
_KB, _MB, _SECTOR, _MS = 1024.0, 1024.0**2, 512.0, 1000.0
#: Columns of devices -> the metric, and what a unit of the column is (bytes, microseconds). sysstat's kB are KiB.
DEVICE_COLUMNS = {
    #: Without `-x`: requests of all kinds.
    "tps": ("storage.ops_per_s", 1.0),
    "r/s": ("storage.read_ops_per_s", 1.0),
    "w/s": ("storage.write_ops_per_s", 1.0),
    "d/s": ("storage.discard_ops_per_s", 1.0),
    "f/s": ("storage.flush_ops_per_s", 1.0),
    "rkB/s": ("storage.read_bytes_per_s", _KB),
    "wkB/s": ("storage.write_bytes_per_s", _KB),
    "rMB/s": ("storage.read_bytes_per_s", _MB),
    "wMB/s": ("storage.write_bytes_per_s", _MB),
    "rsec/s": ("storage.read_bytes_per_s", _SECTOR),
    "wsec/s": ("storage.write_bytes_per_s", _SECTOR),
    "kB_read/s": ("storage.read_bytes_per_s", _KB),
    "kB_wrtn/s": ("storage.write_bytes_per_s", _KB),
    "MB_read/s": ("storage.read_bytes_per_s", _MB),
    "MB_wrtn/s": ("storage.write_bytes_per_s", _MB),
    "Blk_read/s": ("storage.read_bytes_per_s", _SECTOR),
    "Blk_wrtn/s": ("storage.write_bytes_per_s", _SECTOR),
    "r_await": ("storage.read_await_us", _MS),
    "w_await": ("storage.write_await_us", _MS),
    "f_await": ("storage.flush_await_us", _MS),
    "await": ("storage.await_us", _MS),
    "aqu-sz": ("storage.queue_requests", 1.0),
    "avgqu-sz": ("storage.queue_requests", 1.0),
    "%util": ("storage.utilisation_pct", 1.0),
    "util": ("storage.utilisation_pct", 1.0),
}
#: Columns of processors -> the metric; several of one metric are added.
CPU_COLUMNS = {
    "%user": "machine.cpu_user_pct",
    "%nice": "machine.cpu_user_pct",
    "%system": "machine.cpu_system_pct",
    "%iowait": "machine.cpu_iowait_pct",
    "%steal": "machine.cpu_steal_pct",
    "%idle": "machine.cpu_idle_pct",
}
#: A wait of a kind of request that there was none of is no wait.
_WAITS = {
    "storage.read_await_us": "storage.read_ops_per_s",
    "storage.write_await_us": "storage.write_ops_per_s",
    "storage.flush_await_us": "storage.flush_ops_per_s",
}
#: `-t` of old versions: Time: 23:59:30, on the day in the heading.
_TIME_OF_DAY = re.compile(r"[^\W\d]{1,20}\s?:\s*(\d{1,2}:\d{2}:\d{2}.{0,6})")


@dataclass
class _Table:
    """The table of devices of one report that is no mean since boot."""

    at_s: float
    line: int
    start: int
    devices: set[str] = field(default_factory=set)
    #: Whether all of its rows were read.
    is_whole: bool = False


@dataclass
class _State:
    """What was read so far."""

    reports: int = 0
    starts: int = 0
    at_s: float | None = None
    #: The line that tells the time of the present report, or else that of its heading.
    line: int = 0
    clock: Clock = "none"
    #: The heading of the table that is being read; `cpu` and `device` tables have different ones.
    heading: list[str] = field(default_factory=list)
    is_cpu: bool = False
    #: Whether the present report is a mean since boot.
    is_boot: bool = False
    has_cpu: bool = False
    cpu: list[Sample] = field(default_factory=list)
    devices: dict[str, list[Sample]] = field(default_factory=dict)
    #: The tables of devices, and the devices of each start, with those of its mean since boot.
    tables: list[_Table] = field(default_factory=list)
    of_start: dict[int, set[str]] = field(default_factory=dict)
    table: _Table | None = None
    day: DayClock | None = None
    unknown: set[str] = field(default_factory=set)
    broken: Broken = field(default_factory=Broken)


def recognises(path: Path, head: str) -> bool:
    """Whether a line is the heading of iostat's table of devices."""
    del path
    return any(_is_device_heading(line.split()) for line in head.splitlines())


def read(path: Path) -> Recording:
    """The samples of a file. Errors: UserError."""
    return in_either_order(path, _read)


def _read(path: Path, day_first: bool) -> Recording:
    state = _State()
    host = OneHost()
    for number, line in host.lines(clean_lines(path)):
        words = line.split()
        if not words:
            _end_table(state)
            continue
        if words[0] in ("Linux", "FreeBSD") and "(" in line:
            state.starts, state.is_boot, state.at_s, state.has_cpu = state.starts + 1, True, None, False
            # The next report is the first of a new start.
            state.heading = []
            day = next((one for word in words if (one := read_date(word, day_first)) is not None), None)
            state.day = DayClock(day) if day is not None else None
        elif words[0] == "avg-cpu:":
            _begin_report(state, number)
            state.heading, state.is_cpu, state.has_cpu = words[1:], True, True
        elif _is_device_heading(words):
            if not state.has_cpu:
                _begin_report(state, number)
            state.heading, state.is_cpu, state.has_cpu = words, False, False
            _begin_table(state)
        elif (stamp := read_stamp(line, day_first)) is not None:
            state.at_s, state.clock = stamp
            state.line = number
        elif (time := _TIME_OF_DAY.fullmatch(line.strip())) and (second := read_time(time[1])) is not None:
            if state.day is not None:
                state.at_s, state.clock, state.line = state.day.at(second), "local", number
        else:
            _row(state, number, words)
    if not any(state.devices.values()):
        raise state.broken.nothing(path, "no reports after the first, which is the mean since boot")
    notes = [*starts_note(NAME, state.starts), *state.broken.notes(), *_fill_idle(state)]
    cpu, devices = all_in_order(state.cpu, state.devices, notes)
    return Recording(
        NAME,
        state.clock,
        cpu,
        None,
        devices,
        notes=notes,
        unknown=sorted(state.unknown),
        host=host.name,
        told=host.told,
    )


def device_metrics(pairs: dict[str, float]) -> dict[str, float]:
    """The metrics of a device from the values of its columns."""
    metrics = {}
    for column, value in pairs.items():
        if column in DEVICE_COLUMNS and value >= 0:
            name, unit = DEVICE_COLUMNS[column]
            metrics[name] = value * unit
    return {
        name: value
        for name, value in metrics.items()
        if name not in _WAITS or metrics.get(_WAITS[name], 1.0) > 0 or value > 0
    }


def _begin_table(state: _State) -> None:
    _end_table(state)
    if not state.is_boot:
        at_s = state.at_s if state.at_s is not None else float(state.reports - 1)
        state.table = _Table(at_s, state.line, state.starts)
        state.tables.append(state.table)


def _end_table(state: _State) -> None:
    """An empty line, or the next report, ends a table. The end of a file that was cut off does not."""
    if state.table is not None:
        state.table.is_whole = True
    state.table = None


def _fill_idle(state: _State) -> list[str]:
    """With `-z`, a report has no row of a device that did nothing: that is a reading of nothing, and no gap."""
    filled: dict[str, int] = {}
    for name, samples in state.devices.items():
        idle = dict.fromkeys(sorted({key for one in samples for key in one.metrics if "await" not in key}), 0.0)
        for table in state.tables:
            if table.is_whole and name not in table.devices and name in state.of_start.get(table.start, ()):
                samples.append(Sample(table.at_s, dict(idle), table.line))
                filled[name] = filled.get(name, 0) + 1
        if name in filled:
            # By their place in the file: a clock may go back.
            samples.sort(key=lambda one: one.line)
    return [f"{count:,} reports have no {name}, which did nothing then (-z)" for name, count in filled.items()]


def _begin_report(state: _State, number: int) -> None:
    """A report begins. Without a heading line (cut off), the first is taken for the mean since boot, too."""
    _end_table(state)
    state.is_boot = state.reports == 0 or (state.is_boot and not state.heading)
    state.reports += 1
    state.line = state.line if state.at_s is not None else number


def _row(state: _State, number: int, words: list[str]) -> None:
    names = state.heading if state.is_cpu else state.heading[1:]
    texts = words if state.is_cpu else words[1:]
    if not names:
        return
    pairs = state.broken.values(number, names, texts)
    if pairs is None:
        if state.table is not None:
            # It may be the row of any device.
            state.tables.pop()
            state.table = None
        return
    known = CPU_COLUMNS if state.is_cpu else DEVICE_COLUMNS
    state.unknown |= {name for name in names if name not in known}
    device = words[0].rstrip(":")
    if not state.is_cpu:
        state.of_start.setdefault(state.starts, set()).add(device)
        if state.table is not None:
            state.table.devices.add(device)
    if state.is_boot:
        return
    at_s = state.at_s if state.at_s is not None else float(state.reports - 1)
    if state.is_cpu:
        state.cpu.append(Sample(at_s, summed(pairs, CPU_COLUMNS), state.line))
    else:
        state.devices.setdefault(device, []).append(Sample(at_s, device_metrics(pairs), state.line))


def _is_device_heading(words: list[str]) -> bool:
    return bool(words) and words[0].rstrip(":") == "Device" and any(word in DEVICE_COLUMNS for word in words)
