"""The JSON of iostat and mpstat (`-o JSON`), whole or cut off: each report is read by itself.

Of that of `sadf -j`, the processors are read.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from flatwater.errors import UserError
from flatwater.results.importers.samplers.day_orders import in_either_order
from flatwater.results.importers.samplers.headings import starts_note
from flatwater.results.importers.samplers.hosts import OneHost
from flatwater.results.importers.samplers.iostat import CPU_COLUMNS, device_metrics
from flatwater.results.importers.samplers.mpstat import cpu_metrics
from flatwater.results.importers.samplers.sampler import Clock, Recording, Sample, all_in_order, summed
from flatwater.results.importers.samplers.stamps import DayClock, read_date, read_stamp, read_time
from flatwater.results.importers.texts import read_text

NAME = "sysstat-json"
_BEGIN = re.compile(r'"statistics"\s*:\s*\[')
#: No figure of a machine is larger: a hostile file has others.
_VALUE_MAX = 1e18
_HOST = re.compile(r'"nodename"\s*:\s*"([^"]{1,255})"')
_DATE = re.compile(r'"date"\s*:\s*"([^"]{1,20})"')


def recognises(path: Path, head: str) -> bool:
    """Whether it begins as sysstat's JSON does."""
    del path
    return head.lstrip().startswith("{") and '"sysstat"' in head[:2000]


def read(path: Path) -> Recording:
    """The samples of a file. Errors: UserError."""
    return in_either_order(path, _read)


def _read(path: Path, day_first: bool) -> Recording:
    text = read_text(path)
    match = _DATE.search(text)
    day = read_date(match[1], day_first) if match is not None else None
    clock_of_day = DayClock(day or 0.0)
    cpu: list[Sample] = []
    devices: dict[str, list[Sample]] = {}
    clock: Clock = "none"
    notes: list[str] = []
    index = starts = 0
    host = OneHost()
    for is_first, line, report in _reports(text, notes, host):
        has_devices = isinstance(report.get("disk"), list)
        at = _moment(report.get("timestamp"), clock_of_day, day_first)
        # iostat's first report is the mean since boot, also of processors alone (-c); mpstat and sadf have none.
        is_iostat = (has_devices or "avg-cpu" in report) and not isinstance(report.get("timestamp"), dict)
        if is_iostat and is_first:
            starts, index = starts + 1, index + 1
            continue
        at_s, clock = at if at is not None else (float(index), clock)
        index += 1
        metrics = _processors(report)
        if metrics:
            cpu.append(Sample(at_s, metrics, line))
        for row in report["disk"] if has_devices and isinstance(report["disk"], list) else []:
            name, pairs = _pairs(row)
            if name and (found := device_metrics(pairs)):
                devices.setdefault(name, []).append(Sample(at_s, found, line))
    if not cpu and not devices:
        raise UserError("no reports after the first, which is the mean since boot", where=f"{path}:1")
    notes += starts_note("iostat", starts)
    if clock == "local" and day is None:
        notes.append("without a date: its times count from a day that is not known")
    cpu, devices = all_in_order(cpu, devices, notes)
    return Recording(NAME, clock, cpu, None, devices, notes=notes, host=host.name, told=host.told)


def _reports(text: str, notes: list[str], host: OneHost) -> Iterator[tuple[bool, int, dict[str, JsonValue]]]:
    """Each report of each `statistics` list, as far as the text goes: whether it is the first of its list, its line."""
    decoder = json.JSONDecoder()
    line, counted = 1, 0
    names = list(_HOST.finditer(text))
    begins = [name.start() for name in names]
    told, told_line = 0, 1
    for begin in _BEGIN.finditer(text):
        if place := bisect_left(begins, begin.start()):
            own = names[place - 1]
            # Each part of the text is counted once: a file may have any number of starts.
            told, told_line = own.start(), told_line + text.count("\n", told, own.start())
            if not host.is_own(own[1], told_line):
                continue
        at, is_first = begin.end(), True
        while True:
            while at < len(text) and text[at] in " \t\r\n,":
                at += 1
            if at >= len(text) or text[at] != "{":
                break
            line, counted = line + text.count("\n", counted, at), at
            try:
                report, at = decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                notes.append("cut off or damaged after its last whole report")
                return
            if isinstance(report, dict):
                yield is_first, line, report
            is_first = False


def _moment(stamp: JsonValue, clock: DayClock, day_first: bool) -> tuple[float, Clock] | None:
    if isinstance(stamp, dict):
        # sadf -j: {"date": "2026-03-13", "time": "23:59:30", "utc": 1, "interval": 600}
        found = read_stamp(f"{stamp.get('date')} {stamp.get('time')}", day_first)
        return (found[0], "epoch" if stamp.get("utc") else "local") if found is not None else None
    if not isinstance(stamp, str):
        return None
    if (found := read_stamp(stamp, day_first)) is not None:
        return found
    second = read_time(stamp)
    return None if second is None else (clock.at(second), "local")


def _processors(report: dict[str, JsonValue]) -> dict[str, float]:
    of_iostat, of_mpstat = report.get("avg-cpu"), report.get("cpu-load")
    if isinstance(of_iostat, dict):
        return summed(_columns(of_iostat), CPU_COLUMNS)
    rows = [row for row in of_mpstat if isinstance(row, dict)] if isinstance(of_mpstat, list) else []
    together = next((row for row in rows if row.get("cpu") == "all"), {})
    return cpu_metrics(_columns(together))


def _columns(row: dict[str, JsonValue]) -> dict[str, float]:
    """The values of processors under the names of the columns in the text."""
    return {f"%{name}": value for name, value in _numbers(row).items()}


def _pairs(row: JsonValue) -> tuple[str, dict[str, float]]:
    if not isinstance(row, dict):
        return "", {}
    name = row.get("disk_device")
    return (name if isinstance(name, str) else ""), _numbers(row)


def _numbers(row: dict[str, JsonValue]) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in row.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _VALUE_MAX
    }
