"""fio's logs: `PREFIX_iops.N.log`, `_bw`, `_lat`, `_clat`, with `log_avg_msec` or one line for each IO.

A line is `time in ms, value, direction, block size[, offset[, priority]]`. The logs of one prefix are one cell: the
IOPS and bandwidth of its jobs are added up. With `log_avg_msec` the block size is 0 and the value is an average (IOPS,
KiB/s, nanoseconds, as fio 3 writes them). Without it, every line is an IO, and rates and percentiles are computed here.
Average latencies have no percentiles: they become the series `workload.latency_mean_us`, also for each kind.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from flatwater.errors import UserError
from flatwater.results.importers.fio_windows import (
    INTERVAL_MS,
    Ints,
    Log,
    added_up,
    check_count,
    number_of_window,
    since_start,
    spacing_ms,
    window_ends,
)
from flatwater.results.importers.imported import ImportedCell, Interval, bad_line
from flatwater.results.importers.samplers.sampler import Broken
from flatwater.results.importers.spans import damage_note, far_away, far_s
from flatwater.results.importers.texts import is_plain, read_head, read_text, unpacked_name
from flatwater.results.schema import LatencyUs

NAME = "fio-log"

FILE_NAME = re.compile(r"(?P<prefix>.+)_(?P<kind>iops|bw|lat|clat|slat)(?:\.(?P<job>\d+))?\.log")
LINE = re.compile(r"\s*\d+\s*,\s*\d+\s*,\s*[0-2]\s*,\s*\d+\s*(?:,.*)?")
COLUMNS = ("time", "value", "direction", "block")
DIRECTIONS = ("read", "write", "trim")
#: How much of a log's end is looked at.
END_BYTES = 64 * 1024
Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]


def recognises(path: Path, head: str) -> bool:
    """Whether the file name is one of fio's for logs, and the first line has their columns."""
    return FILE_NAME.fullmatch(unpacked_name(path)) is not None and LINE.fullmatch(head.splitlines()[0]) is not None


def read(paths: list[Path]) -> list[ImportedCell]:
    """One cell for each group of logs of one job: the names of its logs differ only in what was logged.

    Errors: UserError with the file and the line that cannot be read.
    """
    groups: dict[str, list[Log]] = {}
    seen: dict[str, Path] = {}
    for path in paths:
        match = FILE_NAME.fullmatch(unpacked_name(path))
        if match is None:
            raise UserError(
                "cannot tell which log of fio's it is", where=str(path), hint="keep fio's names, as in run1_iops.1.log"
            )
        if (before := seen.setdefault(str(path.with_name(match[0])), path)) != path:
            raise UserError("is the same log, packed", where=str(path), hint=f"import {before.name} or this one")
        if match["kind"] != "slat":
            groups.setdefault(str(path.with_name(match["prefix"])), []).append(_read_log(path, match["kind"]))
    if not groups:
        raise UserError("submission latencies alone are no result", where=str(paths[0]), hint="add the _iops logs")
    return [_cell(Path(prefix).name, logs) for prefix, logs in groups.items()]


def _read_log(path: Path, kind: str) -> Log:
    columns = read_head(path).splitlines()[0].count(",") + 1
    names = [*COLUMNS, *(f"more{index}" for index in range(columns - len(COLUMNS)))]
    whole_lines, unread = _without_torn_end(path, columns)
    try:
        table = csv.read_csv(
            path if whole_lines is None else pa.BufferReader(whole_lines),
            read_options=csv.ReadOptions(column_names=names),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(COLUMNS, pa.int64()), include_columns=list(COLUMNS)
            ),
        )
        arrays = [table[name].to_numpy() for name in COLUMNS]
        whole = all(array.dtype == np.int64 for array in arrays) and bool(np.all(arrays[2] <= 2))
    except (pa.ArrowInvalid, KeyError):
        whole = False
    if not whole or np.any(np.stack(arrays) < 0):
        raise _first_bad_line(path, columns)
    arrays, far = _without_far(path, arrays)
    time, value, direction, block = arrays
    return Log(path, kind, time, value, direction, block, [*unread, *far])


def _without_far(path: Path, arrays: list[Ints]) -> tuple[list[Ints], list[str]]:
    """The columns of a log without last lines whose times cannot be believed, and the note about these.

    Errors: UserError for such a line in the middle: without it, its window would be one without IO.
    """
    time = arrays[0]
    spacing = np.diff(np.unique(time))
    usual_ms = INTERVAL_MS if np.any(arrays[3] > 0) or not len(spacing) else max(INTERVAL_MS, int(np.median(spacing)))
    far = far_away(time.astype(np.float64), far_s(len(np.unique(time // usual_ms)), usual_ms))
    if not far:
        return arrays, []
    seconds = [(time[place] / 1000).item() for place in (max(far[0] - 1, 0), *far, min(far[0] + 1, len(time) - 1))]
    note = damage_note(seconds, [0, *(place + 1 for place in far), 0], range(1, len(far) + 1))
    if far != list(range(len(time) - len(far), len(time))):
        raise bad_line(path, far[0] + 1, f"its time is {time[far[0]] / 1000:,.0f} s, far from those around it")
    return [array[: far[0]] for array in arrays], [note]


def _without_torn_end(path: Path, columns: int) -> tuple[bytes | None, list[str]]:
    """The log without a last line that cannot be read, and the note about it; None if the file can be read as it is.

    A run that was killed leaves such a line. One in the middle is no such thing, and cannot be left out: fio writes no
    line for a window without IO.
    """
    content = read_text(path).encode() if not is_plain(path) else None
    end = content if content is not None else _end_of(path)
    begin = end.rfind(b"\n", 0, len(end) - 1) + 1
    if begin == 0 or _is_line(end[begin:].decode(errors="replace"), columns):
        return content, []
    content = content if content is not None else path.read_bytes()
    content = content[: content.rfind(b"\n", 0, len(content) - 1) + 1]
    broken = Broken()
    broken.add(content.count(b"\n") + 1)
    return content, broken.notes()


def _end_of(path: Path) -> bytes:
    """The last bytes of a log: a line is not longer."""
    with path.open("rb") as handle:
        handle.seek(max(0, handle.seek(0, os.SEEK_END) - END_BYTES))
        return handle.read()


def _is_line(line: str, columns: int) -> bool:
    return LINE.fullmatch(line.strip()) is not None and line.count(",") + 1 == columns


def _first_bad_line(path: Path, columns: int) -> UserError:
    """The error for the first bad line, found by reading the file again line by line."""
    with path.open(errors="replace") as handle:
        for number, line in enumerate(handle, 1):
            if not _is_line(line, columns):
                return bad_line(path, number, f"not a line of a fio log: {line.strip()[:40]!r}")
    return UserError("not a fio log", where=str(path))


def _cell(label: str, logs: list[Log]) -> ImportedCell:
    began_s = since_start(logs)
    cell = _summed(label, logs)
    cell.warnings += added_up([log for log in logs if log.kind in ("iops", "bw")] or logs)
    if began_s is not None:
        cell.began = began_s, True
    return cell


def _summed(label: str, logs: list[Log]) -> ImportedCell:
    if all(np.all(log.block > 0) for log in logs):
        return _per_io(label, logs)
    if any(np.any(log.block > 0) for log in logs):
        mixed = next(log for log in logs if np.any(log.block > 0))
        raise UserError(
            "one line an IO, while other logs of this run are averages", where=str(mixed.path), hint="import one kind"
        )
    return _averaged(label, logs)


def _averaged(label: str, logs: list[Log]) -> ImportedCell:
    rates = [log for log in logs if log.kind in ("iops", "bw")]
    if not rates:
        raise UserError(
            "averaged latencies alone are no throughput", where=str(logs[0].path), hint="add the _iops or _bw logs"
        )
    length_ms = spacing_ms(rates)
    ends_ms = window_ends(rates, length_ms)
    count = len(ends_ms)
    metrics: list[dict[str, float]] = [{} for _ in range(count)]
    for kind, name, factor in (("iops", "ops_per_s", 1.0), ("bw", "bytes_per_s", 1024.0)):
        of_kind = [log for log in rates if log.kind == kind]
        if not of_kind:
            continue
        # fio writes no line for a window without IO: a missing line is a zero.
        for direction, word in enumerate(DIRECTIONS):
            if not any(np.any(log.direction == direction) for log in of_kind):
                continue
            total = np.zeros(count)
            for log in of_kind:
                own = log.direction == direction
                np.add.at(total, number_of_window(log.time[own], ends_ms, length_ms), log.value[own] * factor)
            for interval, value in zip(metrics, total.tolist(), strict=True):
                interval[f"workload.{word}_{name}"] = value
                interval[f"workload.{name}"] = interval.get(f"workload.{name}", 0.0) + value
    _add_mean_latency(metrics, [log for log in logs if log.kind in ("lat", "clat")], ends_ms, length_ms)
    unit = "IOPS" if any(log.kind == "iops" for log in rates) else "MiB/s"
    for interval in metrics:
        source, divisor = ("ops_per_s", 1.0) if unit == "IOPS" else ("bytes_per_s", 2.0**20)
        interval["workload.throughput"] = interval[f"workload.{source}"] / divisor
    begins_ms = np.concatenate(([max(ends_ms[0] - length_ms, 0)], ends_ms[:-1]))
    cell = _finished(label, unit, metrics, begins_ms / 1000, ends_ms / 1000, logs)
    cell.warnings += _not_covered(logs, ends_ms, length_ms)
    return cell


def _not_covered(logs: list[Log], ends_ms: Ints, length_ms: int) -> list[str]:
    """Warnings about missing lines at the start or the end of the run: the rates there and the counts are too low."""
    found = []
    last_ms = max(int(log.time.max()) for log in logs)
    short = [log for log in logs if last_ms - log.time.max() > 1.5 * length_ms]
    if short:
        named = ", ".join(log.path.name for log in short[:3]) + (f" and {len(short) - 3} more" if short[3:] else "")
        end_s = min(int(log.time.max()) for log in short) / 1000
        found.append(
            f"{named} ends at {end_s:,.0f} s, others at {last_ms / 1000:,.0f} s: operations and data are those of "
            "the windows that were logged, and are too few if the job went on"
        )
    late_ms = int(ends_ms[0]) - length_ms
    if late_ms > length_ms / 2:
        found.append(
            f"nothing was logged in the first {late_ms / 1000:,.0f} s: operations and data are those of the "
            f"{(ends_ms[-1] - late_ms) / 1000:,.0f} s after them"
        )
    found.append(
        f"operations and data are worked out from {len(ends_ms):,} averages; fio logs no window that the end of the "
        f"run cut short, so up to {length_ms / 1000:g} s may be missing"
    )
    return found


def _add_mean_latency(metrics: list[dict[str, float]], logs: list[Log], ends_ms: Ints, length_ms: int) -> None:
    if any(log.kind == "lat" for log in logs):
        logs = [log for log in logs if log.kind == "lat"]
    for direction, word in enumerate(DIRECTIONS):
        total, jobs = np.zeros(len(metrics)), np.zeros(len(metrics))
        for log in logs:
            number = number_of_window(log.time, ends_ms, length_ms)
            own = log.direction == direction
            np.add.at(total, number[own], log.value[own] / 1000)
            np.add.at(jobs, number[own], 1)
        for index in np.flatnonzero(jobs).tolist():
            metrics[index][f"workload.{word}_latency_mean_us"] = float(total[index] / jobs[index])
    for interval in metrics:
        kinds = [word for word in DIRECTIONS if f"workload.{word}_latency_mean_us" in interval]
        means = [interval[f"workload.{word}_latency_mean_us"] for word in kinds]
        rates = [interval.get(f"workload.{word}_ops_per_s", 0.0) for word in kinds]
        # Without the rates of several kinds, their weights are unknown.
        if len(kinds) == 1:
            interval["workload.latency_mean_us"] = means[0]
        elif sum(rates) > 0:
            interval["workload.latency_mean_us"] = float(np.average(means, weights=rates))


def _per_io(label: str, logs: list[Log]) -> ImportedCell:
    # All kinds log the same IOs. The first of these that exists has the best latency.
    kind = min({log.kind for log in logs}, key=("lat", "clat", "iops", "bw").index)
    logs = [log for log in logs if log.kind == kind]
    time, value, direction, block = (np.concatenate([getattr(log, name) for log in logs]) for name in COLUMNS)
    # A last second that has hardly begun is not an interval.
    number = time // INTERVAL_MS
    count = check_count(max(int(time.max() / INTERVAL_MS + 0.5), 1), len(np.unique(number)), logs[0].path)
    metrics: list[dict[str, float]] = [{} for _ in range(count)]
    for word, own in [
        ("", number < count),
        *((f"{word}_", (direction == i) & (number < count)) for i, word in enumerate(DIRECTIONS)),
    ]:
        if not own.any():
            continue
        done = np.bincount(number[own], minlength=count) * (1000 / INTERVAL_MS)
        size = np.bincount(number[own], weights=block[own], minlength=count) * (1000 / INTERVAL_MS)
        for interval, ops, size_bytes in zip(metrics, done.tolist(), size.tolist(), strict=True):
            interval[f"workload.{word}ops_per_s"] = ops
            interval[f"workload.{word}bytes_per_s"] = size_bytes
        if kind in ("lat", "clat"):
            _add_percentiles(metrics, word, number[own], value[own])
    for interval in metrics:
        interval["workload.throughput"] = interval.setdefault("workload.ops_per_s", 0.0)
    seconds = np.arange(count + 1) * (INTERVAL_MS / 1000)
    cell = _finished(label, "IOPS", metrics, seconds[:-1], seconds[1:], logs)
    cell.operations, cell.bytes = len(time), int(block.sum())
    if kind in ("lat", "clat"):
        cell.latency_us = _latency(value)
        for index, word in enumerate(DIRECTIONS):
            if np.any(direction == index):
                cell.latency_by_kind_us[word] = _latency(value[direction == index])
    return cell


def _add_percentiles(metrics: list[dict[str, float]], word: str, number: Ints, value: Ints) -> None:
    order = np.lexsort((value, number))
    edges = np.searchsorted(number[order], np.arange(len(metrics) + 1)).tolist()
    ordered = value[order]
    for index, interval in enumerate(metrics):
        if edges[index + 1] > edges[index]:
            latency = _latency(ordered[edges[index] : edges[index + 1]])
            for name in ("p50", "p95", "p99", "p999", "max"):
                interval[f"workload.{word}latency_{name}_us"] = getattr(latency, name)


def _latency(value_ns: Ints) -> LatencyUs:
    p50, p95, p99, p999 = np.percentile(value_ns, [50, 95, 99, 99.9], method="inverted_cdf") / 1000
    return LatencyUs(
        p50=float(p50),
        p95=float(p95),
        p99=float(p99),
        p999=float(p999),
        max=float(value_ns.max()) / 1000,
        count=len(value_ns),
    )


def _finished(
    label: str, unit: str, metrics: list[dict[str, float]], begins_s: Floats, ends_s: Floats, logs: list[Log]
) -> ImportedCell:
    lengths_s = ends_s - begins_s
    intervals = [
        Interval(begin_s, end_s, values)
        for begin_s, end_s, values in zip(begins_s.tolist(), ends_s.tolist(), metrics, strict=True)
    ]
    total = lengths_s @ np.array([interval.get("workload.ops_per_s", 0.0) for interval in metrics])
    size = lengths_s @ np.array([interval.get("workload.bytes_per_s", 0.0) for interval in metrics])
    unread = [f"{log.path.name}: {text}" for log in logs for text in log.unread]
    return ImportedCell(
        label=label,
        unit=unit,
        intervals=intervals,
        warnings=list(unread),
        unread=unread,
        interval_s=round(float(np.median(lengths_s)), 2),
        settings={"workload.kind": "fileio", "storage.kind": "file"},
        layers={"workload": "real", "storage": "real"},
        operations=round(float(total)),
        bytes=round(float(size)),
        totals={"logs": [log.path.name for log in logs]},
    )
