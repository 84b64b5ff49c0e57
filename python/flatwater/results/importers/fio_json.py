"""fio's `--output-format=json` and `json+`, from fio 2.x and 3.x.

Each job of each run is a cell. With `--status-interval` fio prints several objects (together they are not valid JSON).
Each holds totals since the start, so the differences between them are the intervals. Lines that are not JSON (a
client's preamble, fio's own notes) are skipped. A single object has only totals. Its series then comes from the logs
that the job says it wrote (`write_iops_log`, `write_bw_log`), if they are in the same folder.
"""

from __future__ import annotations

import glob
import re
from datetime import UTC, datetime
from pathlib import Path

from flatwater.errors import UserError
from flatwater.results.importers import fio_log
from flatwater.results.importers.agreeing import tell_difference
from flatwater.results.importers.fio_log import FILE_NAME
from flatwater.results.importers.fio_objects import (
    DIRECTIONS,
    Direction,
    Job,
    Output,
    outputs,
    runs_of,
)
from flatwater.results.importers.fio_options import settings
from flatwater.results.importers.imported import ImportedCell, Interval, Totals
from flatwater.results.importers.texts import read_text, unpacked_name
from flatwater.results.schema import LatencyUs, MetricSummary

NAME = "fio-json"

#: A status interval shorter than this share of the usual length is the last one of the run.
TAIL = 0.5
#: Logs whose rate or length differs from the totals by more than this share belong to another run.
SAME_RUN = 0.1
#: Options by which a job begins later than others.
_DELAYS = ("startdelay", "start_delay", "wait_for")


def recognises(path: Path, head: str) -> bool:
    """Whether a line of the text begins fio's JSON object, whose first field is fio's version."""
    del path
    return re.search(r'^[^\S\n]*+\{\s*+"fio version"', head, re.MULTILINE) is not None


def read(paths: list[Path]) -> list[ImportedCell]:
    """One cell for each job that did something. Errors: UserError with the file, and the line if it is known."""
    return [cell for path in paths for cell in _read_file(path)]


def _read_file(path: Path) -> list[ImportedCell]:
    cells: list[ImportedCell] = []
    idle: list[Job] = []
    seen: dict[str, int] = {}
    runs = runs_of(outputs(path, read_text(path)))
    latest, _ = max(reversed(runs), key=lambda run: run[0][-1][1].timestamp or 0)
    for numbered, unread in runs:
        last = numbered[-1][1]
        for place, job in enumerate(last.runs()):
            if not job.did_something():
                idle.append(job)
                continue
            history = [(line, output.runs()[place]) for line, output in numbered if len(output.runs()) > place]
            cell = _cell(last, job, history)
            cell.unread, cell.warnings = [*unread], [*unread, *cell.warnings]
            # The next run of fio writes its logs over those of the one before.
            _add_line(cell, job, _logs_of(path, last, job) if numbered is latest else [])
            seen[job.jobname] = seen.get(job.jobname, 0) + 1
            cell.label = job.jobname + (f" {seen[job.jobname]}" if seen[job.jobname] > 1 else "")
            cells.append(cell)
        if numbered is latest:
            _reject_added(path, last, cells)
    if not cells:
        what = f"job {idle[0].jobname!r} did nothing (fio's error code {idle[0].error})"
        raise UserError(what, where=str(path), hint="see what fio printed when it ran")
    for job in idle:
        cells[0].warnings.append(f"job {job.jobname!r} of the same file did nothing (fio's error code {job.error})")
    return cells


def _cell(output: Output, job: Job, history: list[tuple[int, Job]]) -> ImportedCell:
    directions = job.directions()
    intervals = _intervals(history) if len(history) > 1 else []
    lengths = sorted(interval.end_s - interval.start_s for interval in intervals)
    operations = sum(direction.total_ios for _, direction in directions)
    cell = ImportedCell(
        label=job.jobname,
        unit="IOPS",
        intervals=intervals,
        interval_s=round(lengths[len(lengths) // 2], 3) if lengths else 1.0,
        settings=settings({**output.options, **job.options}),
        layers={"workload": "real", "storage": "real"},
        operations=operations,
        bytes=sum(direction.bytes for _, direction in directions),
        errors=job.total_err,
        totals={"fio_version": output.version, "jobname": job.jobname, "runtime_s": job.runtime_s},
    )
    if output.timestamp is not None and 0 <= output.timestamp < 2**33:
        cell.started_at = datetime.fromtimestamp(output.timestamp, UTC).isoformat(timespec="seconds")
    if job.error:
        cell.warnings.append(f"fio ended this job with error {job.error}: it measured until then")
    for name, direction in [*directions, ("fsync", job.sync)]:
        if (latency := latency_of(direction)) is not None:
            cell.latency_by_kind_us[name] = latency
        if buckets := _buckets(direction):
            cell.buckets_ns[name] = buckets
    if len(directions) == 1:
        cell.latency_us = cell.latency_by_kind_us.get(directions[0][0])
    requests = [pair for name, _ in directions for pair in cell.buckets_ns.get(name, [])]
    if requests and all(name in cell.buckets_ns for name, _ in directions):
        cell.buckets_ns["all"] = requests
        cell.latency_us = cell.latency_us or percentiles(requests)
    # fio divides the CPU time of a group by the sum of its jobs' runtimes: only for one job is that one clock.
    if job.usr_cpu is not None and job.sys_cpu is not None and cell.settings.get("workload.threads", 1) == 1:
        cell.client_cpu_us_per_op = (job.usr_cpu + job.sys_cpu) / 100 * job.runtime_s * 1e6 / operations
    return cell


def _add_line(cell: ImportedCell, job: Job, logs: list[Path]) -> None:
    """Adds the series of its logs to a job with totals only, or a warning that there is none."""
    if cell.intervals:
        return
    found = _line_of(cell, job, logs)
    if found is not None:
        cell.intervals, cell.interval_s, cell.unit, cell.used = found.intervals, found.interval_s, found.unit, logs
        cell.totals["logs"] = [path.name for path in logs]
        cell.unread, cell.warnings = cell.unread + found.unread, cell.warnings + found.unread
        cell.began, total = found.began, cell.operations if found.unit == "IOPS" else cell.bytes / 2**20
        tell_difference(cell, total / job.runtime_s, job.runtime_s, torn_edges=0)
        return
    cell.totals_only = _totals(job)
    sampled = [(name, one) for name, one in job.directions() if one.iops_samples]
    told = "".join(
        f"; its own {one.iops_samples:,} samples of {name}s were {one.iops_min or 0:,.0f} to {one.iops_max or 0:,.0f} "
        f"IOPS, standard deviation {one.iops_stddev or 0:,.0f}, in an order that it does not tell"
        for name, one in sampled
    )
    cell.warnings.append(
        f"these are totals, without a series: whether the line was flat cannot be said{told}. Have fio write "
        "write_iops_log with log_avg_msec=1000 beside this file, or use --status-interval=1"
    )


def _line_of(cell: ImportedCell, job: Job, logs: list[Path]) -> ImportedCell | None:
    """The series in a job's logs; None if there are none, or if they belong to another run."""
    if not logs:
        return None
    try:
        (found,) = fio_log.read(logs)
    except (UserError, ValueError) as error:
        cell.warnings.append(f"{logs[0].name} is left out: {error.what if isinstance(error, UserError) else error}")
        return None
    length_s = found.intervals[-1].end_s - found.intervals[0].start_s
    rates = (found.operations, cell.operations) if found.unit == "IOPS" else (found.bytes, cell.bytes)
    ours, theirs = rates[0] / length_s, rates[1] / job.runtime_s
    # A job that pauses at its end logs nothing there: it did the same in less time.
    differs = min(abs(ours - theirs) / theirs, abs(rates[0] - rates[1]) / rates[1]) > SAME_RUN
    if differs or found.intervals[-1].end_s > (1 + SAME_RUN) * job.runtime_s + 1:
        cell.warnings.append(f"{logs[0].name} is left out: its figures are not those of this run")
        scale, end_s = 1.0 if found.unit == "IOPS" else 2.0**20, found.intervals[-1].end_s
        why = (
            f"{logs[0].name} has {ours / scale:,.4g} {found.unit} until {end_s:,.0f} s, and job {job.jobname!r} of the "
            f"JSON that names it had {theirs / scale:,.4g} in {job.runtime_s:,.0f} s: it is of another run, or damaged"
        )
        cell.rejected |= dict.fromkeys(logs, why)
        return None
    return found if len(found.intervals) > 1 else None


def _logs_of(path: Path, output: Output, job: Job) -> list[Path]:
    """The logs beside a JSON file that one of its jobs wrote: IOPS, or else bandwidth."""
    for kind in ("iops", "bw"):
        prefix = _prefix(output, job, kind)
        if not prefix:
            continue
        logs = _logs_named(path, prefix, kind)
        runs = output.runs()
        shared = [one for one in runs if _prefix(output, one, kind) == prefix]
        if len(shared) <= 1:
            return logs
        # If several jobs have one prefix, fio numbers the logs in the order of the jobs.
        if len(logs) == len(runs):
            return [one for one in logs if _number(one) == runs.index(job) + 1]
    return []


def _prefix(output: Output, job: Job, kind: str) -> str:
    """The name that a job's logs of a kind begin with, without their folder; empty if it wrote none."""
    return Path(str({**output.options, **job.options}.get(f"write_{kind}_log", "")).strip() or ".").name


def _reject_added(path: Path, output: Output, cells: list[ImportedCell]) -> None:
    """Leaves out logs of several jobs that did not run at the same time: added up, they are a rate that never was."""
    runs = [job for job in output.runs() if job.did_something()]
    if len(runs) < 2 or not cells or not _apart(output, runs):
        return
    taken = {one.resolve() for cell in cells for one in [*cell.used, *cell.rejected]}
    for kind in ("iops", "bw", "lat"):
        names = [str({**output.options, **job.options}.get(f"write_{kind}_log", "")) for job in runs]
        for prefix in dict.fromkeys(name for name in names if name and names.count(name) > 1):
            kinds = ("lat", "clat", "slat") if kind == "lat" else (kind,)
            logs = [log for one in kinds for log in _logs_named(path, Path(prefix).name, one)]
            if not (logs := [log for log in logs if log.resolve() not in taken and log.stat().st_size]):
                continue
            cells[0].used += logs
            if kind != "lat":
                cells[0].warnings.append(
                    f"{', '.join(log.name for log in logs[:3])} left out: {names.count(prefix)} jobs wrote there, and "
                    "did not begin at the same time: it does not tell which lines are whose"
                )


def _apart(output: Output, jobs: list[Job]) -> bool:
    """Whether jobs began at different times. Each counts the times in its log from its own start."""
    elapsed_s = max(job.elapsed or 0 for job in jobs)
    if all(job.runtime_s >= (1 - SAME_RUN) * elapsed_s - 1 for job in jobs):
        return False
    delayed = any(name in {**output.options, **job.options} for job in jobs for name in _DELAYS)
    groups = {job.groupid for job in jobs}
    return delayed or None in groups or len(groups) > 1


def _logs_named(path: Path, prefix: str, kind: str) -> list[Path]:
    found = [one for one in path.parent.glob(f"{glob.escape(prefix)}_{kind}*.log*") if one.is_file()]
    matches = [(one, FILE_NAME.fullmatch(unpacked_name(one))) for one in found]
    return sorted(one for one, match in matches if match and (match["prefix"], match["kind"]) == (prefix, kind))


def _number(log: Path) -> int:
    match = FILE_NAME.fullmatch(unpacked_name(log))
    return int(match["job"] or 1) if match else 0


def _totals(job: Job) -> Totals:
    """A job's figures over the whole run, and fio's statistics of its own samples."""
    figures = {name: MetricSummary(mean=value, max=None) for name, value in _metrics(job, None).items()}
    directions = job.directions()
    for name, direction in directions:
        if direction.iops_samples:
            figures[f"workload.{name}_ops_per_s"].max = direction.iops_max
        if direction.bw_samples and direction.bw_max is not None:
            figures[f"workload.{name}_bytes_per_s"].max = direction.bw_max * 1024
    totals = Totals(job.runtime_s, figures)
    # For a mixture, the samples of each direction do not give the variation of their sum.
    if len(directions) == 1 and directions[0][1].iops_samples > 1:
        only = directions[0][1]
        totals.stddev, totals.samples = only.iops_stddev, only.iops_samples
        figures["workload.throughput"].max = figures["workload.ops_per_s"].max = only.iops_max
    return totals


def _metrics(job: Job, before: Job | None) -> dict[str, float]:
    """The rates between two states of a job, or over the whole run."""
    length_s = job.runtime_s - (before.runtime_s if before else 0.0)
    metrics: dict[str, float] = {}
    total = 0.0
    for name, direction in job.directions():
        past: Direction = getattr(before, name) if before else Direction()
        if before is None and direction.iops > 0:
            rate = direction.iops
        else:
            rate = (direction.total_ios - past.total_ios) / length_s
        metrics[f"workload.{name}_ops_per_s"] = rate
        past_bytes = past.bytes if before else 0
        metrics[f"workload.{name}_bytes_per_s"] = (direction.bytes - past_bytes) / length_s
        total += rate
    metrics["workload.ops_per_s"] = metrics["workload.throughput"] = total
    metrics["workload.bytes_per_s"] = sum(metrics[f"workload.{name}_bytes_per_s"] for name, _ in job.directions())
    return metrics


def _intervals(history: list[tuple[int, Job]]) -> list[Interval]:
    intervals: list[Interval] = []
    before: Job | None = None
    for line, job in history:
        start_s = before.runtime_s if before else 0.0
        done = [
            getattr(job, name).total_ios - (getattr(before, name).total_ios if before else 0) for name in DIRECTIONS
        ]
        # fio resets its counters at the end of a job's ramp time.
        if min(done) < 0 or job.runtime_s < start_s:
            intervals.clear()
            before = None
            start_s = 0.0
        if job.runtime_s > start_s:
            metrics = _metrics(job, before or Job(jobname=job.jobname))
            intervals.append(Interval(start_s, job.runtime_s, metrics, line))
        before = job
    if len(intervals) > 2:
        first, last = intervals[-2], intervals[-1]
        if last.end_s - last.start_s < TAIL * (first.end_s - first.start_s):
            intervals.pop()
    return intervals


def latency_of(direction: Direction) -> LatencyUs | None:
    """The percentiles that a result keeps; None if fio printed others, or none."""
    found = direction.latency
    if found is None:
        return None
    latency, unit_ns = found
    known = latency.percentile or {}
    wanted = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}
    if any(percent not in known for percent in wanted.values()):
        return None
    in_us = {name: known[percent] * unit_ns / 1000 for name, percent in wanted.items()}
    return LatencyUs(**in_us, max=latency.max * unit_ns / 1000, count=latency.n or direction.total_ios)


def _buckets(direction: Direction) -> list[tuple[int, int]]:
    found = direction.latency
    if found is None or not found[0].bins:
        return []
    return sorted((int(value * found[1]), count) for value, count in found[0].bins.items() if count > 0)


def percentiles(buckets: list[tuple[int, int]]) -> LatencyUs:
    """Percentiles of (nanoseconds, count) pairs."""
    ordered = sorted(buckets)
    total = sum(count for _, count in ordered)
    wanted = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999), ("max", 1.0)]
    found: dict[str, float] = {}
    below = 0
    for value_ns, count in ordered:
        below += count
        for name, share in wanted:
            if name not in found and below >= share * total:
                found[name] = value_ns / 1000
    return LatencyUs(**found, count=total)
