"""dstat's and dool's CSV (`--output`), and the text that they print.

Their first line is the mean since boot, and is left out. The text has three or four digits, with units; the CSV has
all.
Source of the columns: dstat(1).
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from pathlib import Path

from flatwater.results.importers.figures import number_of
from flatwater.results.importers.samplers.headings import starts_note, starts_of
from flatwater.results.importers.samplers.hosts import OneHost
from flatwater.results.importers.samplers.sampler import (
    Broken,
    Clock,
    Recording,
    Sample,
    all_in_order,
    clean_lines,
)
from flatwater.results.importers.samplers.stamps import NO_YEAR, YearClock, read_stamp

NAME = "dstat"
#: The name of recordings of the text, whose figures are rounded.
TEXT = "dstat-text"
_TITLE = re.compile(r'"(?:pcp-)?(?:dstat|dool) [^"]{0,40}', re.IGNORECASE)
_DEVICE_GROUP = re.compile(r"(dsk|io)/(.+)")
#: Group and column -> the metric. A group's name is compared without hyphens and the word "usage".
_COLUMNS = {
    ("total cpu", "usr"): "machine.cpu_user_pct",
    ("total cpu", "sys"): "machine.cpu_system_pct",
    ("total cpu", "hiq"): "machine.cpu_system_pct",
    ("total cpu", "siq"): "machine.cpu_system_pct",
    ("total cpu", "idl"): "machine.cpu_idle_pct",
    ("total cpu", "wai"): "machine.cpu_iowait_pct",
    ("total cpu", "stl"): "machine.cpu_steal_pct",
    ("system", "int"): "machine.interrupts_per_s",
    ("system", "csw"): "machine.context_switches_per_s",
    ("procs", "run"): "machine.tasks_running",
    ("procs", "blk"): "machine.tasks_blocked",
    ("memory", "free"): "machine.memory_free_bytes",
    ("memory", "cach"): "machine.memory_cached_bytes",
    ("paging", "in"): "machine.swap_read_bytes_per_s",
    ("paging", "out"): "machine.swap_written_bytes_per_s",
    ("net/total", "recv"): "machine.network_received_bytes_per_s",
    ("net/total", "send"): "machine.network_sent_bytes_per_s",
}
_OF_DEVICES = {
    ("dsk", "read"): "storage.read_bytes_per_s",
    ("dsk", "writ"): "storage.write_bytes_per_s",
    ("io", "read"): "storage.read_ops_per_s",
    ("io", "writ"): "storage.write_ops_per_s",
}
_TIMES = ("epoch", "time", "date/time")
_UNITS = {"B": 1.0, "k": 1024.0, "M": 1024.0**2, "G": 1024.0**3, "T": 1024.0**4}
_SHORT = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)([BkMGT]?)")
#: Counts (interrupts) are divided by 1000, and bytes by 1024.
_COUNTED = ("int", "csw", "run", "blk", "new", "usr", "sys", "idl", "wai", "stl", "hiq", "siq")


@dataclass
class _State:
    """What was read so far."""

    #: Group and name of each column.
    columns: list[tuple[str, str]] = field(default_factory=list)
    rows: int = 0
    #: Samples, those that cannot be read too, over all starts of the program.
    index: int = 0
    starts: int = 0
    clock: Clock = "none"
    interval_s: float | None = None
    year: YearClock = field(default_factory=lambda: YearClock(NO_YEAR))
    has_year: bool = False
    needs_year: bool = False
    samples: list[Sample] = field(default_factory=list)
    devices: dict[str, list[Sample]] = field(default_factory=dict)
    broken: Broken = field(default_factory=Broken)
    host: OneHost = field(default_factory=OneHost)


def recognises(path: Path, head: str) -> bool:
    """Whether it has the title of the CSV, or the two headings of the text."""
    del path
    lines = head.splitlines()
    return any(_TITLE.match(line) for line in lines[:20]) or any(_is_names(line) for line in lines[:50])


def read(path: Path) -> Recording:
    """The samples of a file. Errors: UserError."""
    state = _State()
    lines = list(clean_lines(path))
    is_csv = any(_TITLE.match(line) for _, line in lines[:20])
    (_read_csv if is_csv else _read_text)(state, lines)
    if not state.samples and not state.devices:
        raise state.broken.nothing(path, "no samples after the first line, which is the mean since boot")
    notes = [*starts_note(NAME, state.starts), *state.broken.notes()]
    if not is_csv:
        notes.append("the text of dstat: figures have three or four digits")
    unknown = sorted({f"{group} {name}" for group, name in state.columns if _is_unknown(group, name)})
    samples, devices = all_in_order(state.samples, state.devices, notes)
    tool = NAME if is_csv else TEXT
    has_year = not state.needs_year
    recording = Recording(tool, state.clock, samples, state.interval_s, devices, has_year=has_year, notes=notes)
    recording.unknown, recording.host, recording.told = unknown, state.host.name, state.host.told
    recording.is_counted = state.clock == "none"
    return recording


def _read_csv(state: _State, lines: list[tuple[int, str]]) -> None:
    groups: list[str] | None = None
    is_own = True
    for number, line in lines:
        try:
            cells = next(csv.reader([line]), [])
        except csv.Error:
            state.broken.add(number)
            continue
        if cells[:1] == ["Host:"]:
            is_own = state.host.is_own(cells[1] if len(cells) > 1 else "", number)
        if not is_own or not cells or _TITLE.match(line) or cells[0] in ("Author:", "Host:"):
            continue
        if cells[0] == "Cmdline:":
            state.interval_s = _delay(cells[1] if len(cells) > 1 else "")
            years = re.findall(r"\b(20\d\d)\b", line)
            if years:
                state.year, state.has_year = YearClock(int(years[-1])), True
            # The program was started again: its first row is again the mean since boot.
            state.rows, groups = 0, None
            state.starts += 1
        elif line.startswith('"') and groups is None:
            groups = _filled([_group(cell) for cell in cells])
        elif line.startswith('"') and groups is not None:
            state.columns = list(zip(_filled(groups, len(cells)), cells, strict=False))
            groups = None
        elif state.columns:
            _row(state, number, cells, [number_of(cell) for cell in cells])


def _read_text(state: _State, lines: list[tuple[int, str]]) -> None:
    groups: list[str] = []
    blocks: list[tuple[list[tuple[str, str]], list[tuple[int, list[str]]]]] = []
    for number, line in lines:
        if not line.strip():
            continue
        if _is_names(line):
            segments = [part.split() for part in re.split(r"[|:]", line)]
            names = groups + [""] * (len(segments) - len(groups))
            columns = [(names[place], name) for place, part in enumerate(segments) for name in part]
            blocks.append((columns, []))
        elif line.lstrip().startswith("-") and "--" in line:
            groups = [_group(part.strip("-").replace("-", " ")) for part in line.split()]
        elif blocks:
            columns, rows = blocks[-1]
            rows.append((number, _short_cells(columns, line)))
    whole = [sum(len(cells) == len(columns) for _, cells in rows) for columns, rows in blocks]
    starts = starts_of([(count, len(rows) - count) for count, (_, rows) in zip(whole, blocks, strict=True)])
    state.starts = len(starts)
    for place, (columns, rows) in enumerate(blocks):
        state.columns = columns
        if place in starts:
            state.rows = 0
        for number, cells in rows:
            values = [_short(cell, name) for cell, (_, name) in zip(cells, columns, strict=False)]
            _row(state, number, cells, values)


def _short_cells(columns: list[tuple[str, str]], line: str) -> list[str]:
    """The values of a line of text. A time has a blank in it, and is one value."""
    cells: list[str] = []
    for part in line.split("|"):
        words = part.split()
        place = len(cells)
        is_time = place < len(columns) and columns[place][1] in _TIMES and len(words) == 2
        cells += [" ".join(words)] if is_time else words
    return cells


def _row(state: _State, number: int, cells: list[str], values: list[float | None]) -> None:
    state.rows += 1
    if state.rows == 1:
        return  # the mean since boot
    state.index += 1
    if len(cells) != len(state.columns):
        state.broken.add(number)
        return
    at_s: float | None = None
    metrics: dict[str, float] = {}
    of_devices: dict[str, dict[str, float]] = {}
    for (group, name), cell, value in zip(state.columns, cells, values, strict=True):
        if name in _TIMES:
            at_s = _moment(state, cell)
        elif value is not None and (metric := _COLUMNS.get((group, name))) is not None:
            metrics[metric] = metrics.get(metric, 0.0) + value
        elif value is not None and (of_device := _of_device(group, name)) is not None:
            device, metric = of_device
            of_devices.setdefault(device, {})[metric] = value
        elif value is None and not _is_unknown(group, name):
            state.broken.add_value(number, cell)
    stamp = next((cell for (_, name), cell in zip(state.columns, cells, strict=True) if name in _TIMES), None)
    if at_s is None and stamp is not None:
        state.broken.add(number, f"no such time: {stamp[:40]!r}")
        return
    at_s = at_s if at_s is not None else state.index * (state.interval_s or 1.0)
    if metrics:
        state.samples.append(Sample(at_s, metrics, number))
    for device, found in of_devices.items():
        state.devices.setdefault(device, []).append(Sample(at_s, found, number))


def _of_device(group: str, name: str) -> tuple[str, str] | None:
    """The device and the metric of a column of devices."""
    match = _DEVICE_GROUP.fullmatch(group)
    metric = _OF_DEVICES.get((match[1], name)) if match is not None else None
    return (match[2], metric) if match is not None and metric is not None else None


def _moment(state: _State, cell: str) -> float | None:
    if (found := read_stamp(cell)) is not None:
        at_s, state.clock = found
        return at_s
    dated = state.year.at(cell)
    if dated is not None:
        state.clock, state.needs_year = "local", not state.has_year
    return dated


def _delay(command: str) -> float | None:
    """The seconds between two rows of a command line: its last number, or the last but one if a count follows."""
    words = re.sub(r"--output[ =]\S+", "", command).split()
    while words and not words[-1].startswith("-") and not words[-1].isdecimal():
        words = words[:-1]
    numbers: list[int] = []
    while words and words[-1].isdecimal():
        numbers.insert(0, int(words.pop()))
    if not numbers:
        return 1.0
    return float(numbers[0]) if 0 < numbers[0] < 86400 else None


def _short(text: str, name: str) -> float | None:
    """A value of the text with its unit: 372M, 4096B, 86k."""
    match = _SHORT.fullmatch(text)
    if match is None:
        return None
    unit = 1000.0 if match[2] == "k" and name in _COUNTED else _UNITS.get(match[2], 1.0)
    return float(match[1]) * unit


def _group(text: str) -> str:
    text = " ".join(text.lower().replace("usage", "").split())
    return {"total": "total cpu", "cpu": "total cpu", "interrupts": "system"}.get(text, text)


def _filled(groups: list[str], length: int = 0) -> list[str]:
    """Each column's group: an empty cell belongs to the group before it."""
    found: list[str] = []
    for group in [*groups, *[""] * (length - len(groups))]:
        found.append(group or (found[-1] if found else ""))
    return found


def _is_names(line: str) -> bool:
    words = set(re.split(r"[|\s]+", line.strip()))
    return "|" in line and (words >= {"usr", "sys", "idl"} or words >= {"read", "writ"})


def _is_unknown(group: str, name: str) -> bool:
    known = (group, name) in _COLUMNS or name in _TIMES or _of_device(group, name) is not None
    return bool(name) and not known
