"""tpcc_start's text (tpcc-mysql), the format with `trx:` and the older one with `count(late):times`.

The unit is NOTPM: New-Order transactions per minute. The ramp-up prints nothing and becomes the warm-up. Its response
times are still in the percentiles of the first interval (the histogram is reset only when an interval is printed), so
these are left out. An interval that cannot be read (the last one of a run that was killed is torn) is left out and
counted. In the older format, versions printed seconds, milliseconds or CPU time in the same way, so its
response times are left out altogether. The password that tpcc_start prints is not read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from flatwater.errors import UserError
from flatwater.printing import counted
from flatwater.results.importers.agreeing import tell_difference
from flatwater.results.importers.imported import ImportedCell, Interval, bad_line, numbered_lines, time_goes_back
from flatwater.results.importers.samplers.sampler import Broken
from flatwater.results.importers.spans import damage_note, damaged
from flatwater.results.importers.texts import read_text, stem_of
from flatwater.results.long_intervals import GAP_TIMES
from flatwater.results.schema import Phase

NAME = "tpcc"

TITLE = re.compile(r"\*+ .*TPC-C Load Generator")
SETTING = re.compile(r"\s*\[(warehouse|connection|rampup)\]: (\d{1,9})")
LENGTH = re.compile(r"\s*\[measure\]: (\d{1,9})")
START = "MEASURING START"
STOP = "STOPPING THREADS"
RESULT = re.compile(r"\s*(\d{1,12}\.\d{1,9}) TpmC")
#: An interval of either format starts with its time.
INTERVAL = re.compile(r"\s*(\d+), (?:trx: |\d+\(\d+\):)")
#: The words and counts of an interval. A line with some of them is one, if not a whole one.
PARTS = re.compile(r"\btrx: |\b9[59]%?: |max_rt: |[0-9]\|[0-9]|[0-9]\([0-9]{1,12}\):")
PARTS_LEAST = 3
#: Bounded, because a damaged file may contain a number of any length.
COUNT = r"(\d{1,12})"
NUMBER = r"(\d{1,12}(?:\.\d{1,9})?)"
#: tpcc_start gives printf "95%:", of which some C libraries print no per cent sign.
NEW = re.compile(
    rf"\s*{COUNT}, trx: {COUNT}, 95%?: {NUMBER}, 99%?: {NUMBER}, max_rt: {NUMBER}, "
    rf"{COUNT}\|{NUMBER}, {COUNT}\|{NUMBER}, {COUNT}\|{NUMBER}, {COUNT}\|{NUMBER}\s*"
)
OLD = re.compile(r"\s*(\d{1,12})((?:, \d{1,12}\(\d+\):[\d.]+(?:\|[\d.]+)?){5})\s*")
#: Transactions in the order of the columns.
KINDS = ("new_order", "payment", "order_status", "delivery", "stock_level")

#: The settings of every run of tpcc_start: no think time, no rate, one statement after another.
KNOWN: dict[str, str | int | float] = {
    "workload.kind": "tpcc",
    "workload.variant": "tpcc-mysql",
    "workload.table_sets": 1,
    "workload.foreign_keys": True,
    "workload.history_key": False,
    "workload.all_warehouses": False,
    "workload.partitions": 0,
    "workload.keying_and_think": False,
    "workload.rate_per_s": 0.0,
    "workload.pipeline": False,
    "workload.reconnect_every": 0,
}


@dataclass
class _Run:
    line: int
    settings: dict[str, int] = field(default_factory=dict)
    #: (end, transactions by kind, latencies in ms by the metric's name); times since the start of the measurement.
    intervals: list[tuple[int, list[int], dict[str, float]]] = field(default_factory=list)
    #: Their lines.
    lines: list[int] = field(default_factory=list)
    tpmc: float | None = None
    #: How long it was to measure; 0 if the head was cut off.
    length_s: int = 0
    stopped: bool = False
    #: Intervals that cannot be read.
    broken: Broken = field(default_factory=Broken)
    noise: int = 0
    first_noise: str = ""
    old: bool = False


def recognises(path: Path, head: str) -> bool:
    """Whether a line has tpcc-mysql's title, its start message, or the form of its intervals."""
    del path
    return any(TITLE.match(line) or START in line or INTERVAL.match(line) for line in head.splitlines())


def read(paths: list[Path]) -> list[ImportedCell]:
    """One cell for each run of tpcc-mysql in the files. Errors: UserError with the file and the line that cannot be
    read.
    """
    return [cell for path in paths for cell in _read_file(path)]


def _read_file(path: Path) -> list[ImportedCell]:
    runs: list[_Run] = []
    for number, line in numbered_lines(read_text(path)):
        if TITLE.match(line):
            runs.append(_Run(number))
        elif INTERVAL.match(line):
            if not runs:
                runs.append(_Run(number))  # the head of the file was cut off
            _interval_line(number, runs[-1], line)
        elif runs:
            _other_line(number, runs[-1], line)
    if not runs:
        raise UserError("not tpcc_start's output", where=f"{path}:1", hint="keep what tpcc_start prints")
    return [_cell(path, run, number if len(runs) > 1 else None) for number, run in enumerate(runs, 1)]


def _interval_line(number: int, run: _Run, line: str) -> None:
    latencies: dict[str, float] = {}
    if match := NEW.fullmatch(line):
        done = [int(match[2]), *(int(match[index]) for index in (6, 8, 10, 12))]
        latencies = {"p95": float(match[3]), "p99": float(match[4]), "max": float(match[5])}
    elif match := OLD.fullmatch(line):
        run.old = True
        done = [int(count) for count in re.findall(r", (\d+)\(", match[2])]
    else:
        run.broken.add(number, _not_an_interval(line))
        return
    run.intervals.append((int(match[1]), done, latencies))
    run.lines.append(number)


def _not_an_interval(line: str) -> str:
    return f"not an interval of tpcc_start's: {line.strip()[:50]!r}"


def _place(path: Path, run: _Run) -> list[str]:
    """Leaves out intervals whose times no clock gave, and tells them. Errors: UserError where the times go back."""
    times = [float(end) for end, _, _ in run.intervals]
    notes: list[str] = []
    if wrong := [place - 1 for place in damaged([0.0, *times]) if place]:
        notes.append(damage_note(times, run.lines, wrong))
        kept = [place for place in range(len(times)) if place not in set(wrong)]
        run.intervals, run.lines = [run.intervals[place] for place in kept], [run.lines[place] for place in kept]
    for line, before, (end, _, _) in zip(
        run.lines, [0, *(end for end, _, _ in run.intervals)], run.intervals, strict=False
    ):
        if end <= before:
            raise time_goes_back(path, line, end)
    return notes


def _other_line(number: int, run: _Run, line: str) -> None:
    if match := SETTING.match(line):
        run.settings[match[1]] = int(match[2])
    elif match := LENGTH.match(line):
        run.length_s = int(match[1])
    elif match := RESULT.match(line):
        run.tpmc = float(match[1])
    elif STOP in line:
        run.stopped = True
    elif not run.stopped and len(PARTS.findall(line)) >= PARTS_LEAST:
        run.broken.add(number, _not_an_interval(line))
    elif run.intervals and not run.stopped and line.strip():
        # Any other line among the intervals is an error of a transaction or of the server.
        run.noise += 1
        run.first_noise = run.first_noise or line.strip()[:80]


def _cell(path: Path, run: _Run, number: int | None) -> ImportedCell:
    if not run.intervals:
        if run.broken.first is not None:
            raise bad_line(path, *run.broken.first)
        raise bad_line(
            path, run.line, "this run of tpcc_start has no interval", "it printed none: was -l shorter than -i?"
        )
    misplaced = _place(path, run)
    rampup_s = float(run.settings.get("rampup", 0))
    connections = run.settings.get("connection")
    intervals: list[Interval] = []
    ends = [end for end, _, _ in run.intervals]
    typical = sorted(b - a for a, b in zip([0, *ends], ends, strict=False))[len(ends) // 2]
    # If the head of the file was cut off, the first interval does not cover all the time before it.
    start = max(0, ends[0] - typical)
    missing: list[int] = []
    for index, (end, done, latencies) in enumerate(run.intervals):
        # Each line counts its own interval: what is left out, or is not there, is a gap, and no part of it.
        if end - typical > start:
            missing += [run.lines[index]] if end - typical - start <= (GAP_TIMES - 1) * typical else []
            start = end - typical
        length_s = end - start
        metrics = {
            "workload.throughput": done[0] * 60 / length_s,
            "workload.ops_per_s": sum(done) / length_s,
        }
        metrics |= {f"workload.{kind}_per_s": count / length_s for kind, count in zip(KINDS, done, strict=True)}
        if connections is not None:
            # Every connection always waits for a transaction: tpcc_start has no think time.
            metrics["workload.in_flight"] = float(connections)
        if done[0] > 0 and not (index == 0 and rampup_s > 0):
            metrics |= {f"workload.latency_{name}_us": ms * 1000 for name, ms in latencies.items() if ms > 0}
        intervals.append(Interval(rampup_s + start, rampup_s + end, metrics, run.lines[index]))
        start = end
    lengths = sorted(interval.end_s - interval.start_s for interval in intervals)
    cell = ImportedCell(
        label=stem_of(path) + (f" {number}" if number else ""),
        unit="NOTPM",
        intervals=intervals,
        interval_s=lengths[len(lengths) // 2],
        settings=dict(KNOWN),
        layers={"workload": "real", "database": "real"},
        before=[Phase(name="warmup", start_s=0.0, end_s=rampup_s)] if rampup_s else [],
        operations=sum(sum(done) for _, done, _ in run.intervals),
    )
    for name, ours in (("warehouse", "warehouses"), ("connection", "connections")):
        if name in run.settings:
            cell.settings[f"workload.{ours}"] = run.settings[name]
    if run.tpmc is not None:
        cell.totals["tpmc"] = run.tpmc
        tell_difference(cell, run.tpmc, run.length_s or ends[-1])
    else:
        cell.warnings.append("the totals at the end are missing: tpcc_start was stopped, or its output cut off")
    if run.old:
        cell.warnings.append("response times left out: versions that print this format differ in their unit")
    cell.unread = [*run.broken.notes(), *misplaced]
    cell.warnings += cell.unread
    if missing and not cell.unread:
        times = f" ({len(missing)} times)" if len(missing) > 1 else ""
        cell.warnings.append(f"{path.name}:{missing[0]}: no interval in the time before this one{times}")
    if run.noise:
        cell.warnings.append(
            f"{counted(run.noise, 'line')} of errors among the intervals, the first: {run.first_noise}"
        )
    return cell
