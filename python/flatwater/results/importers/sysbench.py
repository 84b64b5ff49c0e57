"""sysbench's text, versions 0.5 to 1.1: fileio, oltp and other scripts, with or without `--report-interval`.

A file may hold several runs one after another (a sweep appended to one log): each is a cell. For an interval in which
no request finished, sysbench prints a latency of 0.000. That is not a latency, and is left out. In a closed loop (no
`--rate`) every thread has a request in flight, so such an interval is a stall. A report that cannot be read (the last
one of a run that was killed is torn) is left out and counted.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from flatwater.errors import UserError
from flatwater.printing import counted
from flatwater.results.importers.agreeing import tell_difference, tell_slower
from flatwater.results.importers.figures import damaged_figure, plain
from flatwater.results.importers.imported import NO_LENGTH, ImportedCell, Interval, Totals, bad_line, numbered_lines
from flatwater.results.importers.samplers.line_stamps import LineStamp, unstamped
from flatwater.results.importers.sysbench_options import HEADING, NUMBER, TOTALS, block_bytes, settings, threads_of
from flatwater.results.importers.sysbench_run import UNKNOWN, Run, place
from flatwater.results.importers.sysbench_totals import join_checkpoints, latency_of, of_whole, total_rate, whole_run
from flatwater.results.importers.texts import read_text, stem_of

NAME = "sysbench"

VERSION = re.compile(r"sysbench (\d+\.\d+[.\w]*)\b")
#: A line of `--report-interval`. The rest of the line is parsed below.
REPORT = re.compile(r"\[\s*(\d{1,9}(?:\.\d{1,9})?)\s*s\s*\]\s*(.*)")
#: A line of sysbench.report_csv (sysbench-tpcc's `--report-csv=yes`): time, threads, tps, qps, reads, writes, other
#: statements, a percentile of the latency (ms), errors and reconnects a second.
CSV = re.compile(",".join([NUMBER, r"(\d{1,9})", *[NUMBER] * 8]))
#: What begins like a line of `--report-interval` or has its words, or begins like one of CSV, and need not be whole.
REPORT_BEGINS = re.compile(r"\[\s*(?:\d|$)|\[.{0,20}\] (?:thds|reads): ")
CSV_BEGINS = re.compile(r"\d|[^,]{0,20},\d{1,9},\d")
#: A share of the lines at the beginning of a file of CSV that are whole, at least.
CSV_WHOLE = 0.5
FILEIO = re.compile(rf"reads: {NUMBER} (MiB|MB|Mb)/s writes: {NUMBER} \S+ fsyncs: {NUMBER}/s\s*(.*)")
#: tps of oltp (0.5 has commas), eps of other scripts.
EVENTS = re.compile(rf"(?:thds|threads): ?(\d{{1,9}}),? (tps|eps): {NUMBER},?\s*(.*)")
QUERIES = re.compile(rf"qps: {NUMBER} \(r/w/o: {NUMBER}/{NUMBER}/{NUMBER}\)")
QUERIES_05 = re.compile(rf"reads(?:/s)?: {NUMBER},? writes(?:/s)?: {NUMBER}")
LATENCY = re.compile(
    rf"(?:lat|latency) \(ms, ?(\d{{1,3}})%\): {NUMBER}"
    rf"|(?:response time|latency): {NUMBER} ?ms \((\d{{1,3}})%\)"
)
ERRORS = re.compile(rf"(?:err/s|errors/s|errors):? {NUMBER}")
QUEUE = re.compile(r"queue length: (\d{1,9}),? concurrency: (\d{1,9})")
FAILURE = re.compile(r"FATAL: (.*)")
RUNNING = re.compile(r"Running the test with following options")
#: The rates of queries, in the order in which a report has them.
_QUERY_RATES = ("queries_per_s", "read_queries_per_s", "write_queries_per_s", "other_queries_per_s")
CHECKPOINT = re.compile(r"\[\s*\d{1,9}(?:\.\d{1,9})?\s*s\s*\]\s*Checkpoint report:\s*")


def recognises(path: Path, head: str) -> bool:
    """Whether a line has sysbench's version, or is a report of an interval."""
    del path
    lines = head.splitlines()
    lines = [line.lstrip() if stamp is not None else line for stamp, line in map(unstamped, lines)]
    if any(VERSION.match(line) or REPORT.match(line) for line in lines):
        return True
    # The last line of the head may be cut off, and the first one of the file may be damaged, or have names.
    filled = [line.strip() for line in lines if line.strip()]
    whole = sum(CSV.fullmatch(line) is not None for line in filled)
    return whole > 0 and whole >= CSV_WHOLE * (len(filled) - 1)


def read(paths: list[Path]) -> list[ImportedCell]:
    """One cell for each run of sysbench in the files. Errors: UserError with the file and line that cannot be read."""
    return [cell for path in paths for cell in _read_file(path)]


def _read_file(path: Path) -> list[ImportedCell]:
    runs: list[Run] = []
    # What looks like a report that cannot be read, before the first line that can.
    early: list[tuple[int, str]] = []
    for number, stamped in numbered_lines(read_text(path)):
        stamp, line = unstamped(stamped)
        # Some programs write two blanks behind the time, and some take sysbench's own away.
        line = line.lstrip() if stamp is not None else line
        if match := VERSION.match(line):
            runs.append(Run(number, match[1]))
        elif CHECKPOINT.fullmatch(line):
            if runs:
                runs[-1].checkpoints += 1
        elif csv := CSV.fullmatch(line.strip()):
            if not runs:
                runs.append(_headless(number, early, is_csv=True))
            _take_start(runs[-1], stamp, float(csv[1]))
            _csv_line(number, runs[-1], csv)
        elif report := REPORT.match(line):
            if not runs:
                runs.append(_headless(number, early, is_csv=False))
            _take_start(runs[-1], stamp, float(report[1]))
            _report_line(number, runs[-1], float(report[1]), report[2])
        elif not runs:
            early += [(number, line)] if REPORT_BEGINS.match(line) or CSV_BEGINS.match(line) else []
        elif REPORT_BEGINS.match(line) or (runs[-1].is_csv and CSV_BEGINS.match(line)):
            runs[-1].leave_out(number, _not_a_report(line))
        else:
            _other_line(number, runs[-1], line)
    if not runs:
        raise UserError("not sysbench's output", where=f"{path}:1", hint="keep what `sysbench ... run` prints")
    return _cells(path, runs)


def _take_start(run: Run, stamp: LineStamp | None, end_s: float) -> None:
    """Takes the start of a run from the time before its first report, of which `end_s` is the end."""
    if stamp is not None and stamp.at_s is not None and run.began is None:
        run.began, run.has_year = (stamp.at_s - end_s, stamp.has_zone), stamp.has_year


def _cells(path: Path, runs: list[Run]) -> list[ImportedCell]:
    """A cell for each run that measured something. The others are told, if there is one.

    Errors: UserError, that of the first, if there is none.
    """
    tried = [run for run in runs if run.is_run] or runs[:1]
    cells, notes = [], []
    first: UserError | None = None
    for number, run in enumerate(tried, 1):
        try:
            cells.append(_cell(path, run, number if len(tried) > 1 else None))
        except UserError as error:
            first = first or error
            line = (error.where or "").rpartition(":")[2]
            notes.append(f"{path.name}:{line}: the run of sysbench from line {run.line} is left out: {error.what}")
    if not cells and first is not None:
        raise first
    cells[0].warnings += notes
    cells[0].unread += notes
    return cells


def _headless(number: int, early: list[tuple[int, str]], *, is_csv: bool) -> Run:
    """A run whose head is not in the file. The lines before its first report may be reports that cannot be read."""
    run = Run(number, UNKNOWN)
    begins = CSV_BEGINS if is_csv else REPORT_BEGINS
    for before, line in early:
        if begins.match(line):
            run.leave_out(before, _not_a_report(line))
    return run


def _not_a_report(text: str) -> str:
    return f"not a report of sysbench's: {text[:50]!r}"


def _other_line(number: int, run: Run, line: str) -> None:
    for name, pattern in HEADING.items():
        if name not in run.heading and (match := pattern.match(line)):
            run.heading[name] = match
            return
    # They are as the reports are: with decimal commas, or thousands that are apart.
    line = plain(line)[0] if line[:1].isspace() or line[-1:].isdigit() else line
    for names, pattern in TOTALS.items():
        if match := pattern.match(line):
            for name, value in zip(names, match.groups(), strict=True):
                run.add_total(name, float(value))
            return
    if RUNNING.match(line):
        run.running = True
    if match := FAILURE.match(line):
        run.failures.append((number, match[1]))


def _csv_line(number: int, run: Run, match: re.Match[str]) -> None:
    values = [float(value) for value in match.groups()]
    run.unit, run.is_csv = "tps", True
    metrics = {f"workload.{name}": value for name, value in zip(_QUERY_RATES, values[3:7], strict=True)}
    metrics |= {"workload.throughput": values[2], "workload.ops_per_s": values[2], "workload.errors_per_s": values[8]}
    if values[7] > 0:
        metrics["workload.latency_p95_us"] = values[7] * 1000
    _waiting(run, metrics, int(values[1]))
    run.intervals.append(Interval(0.0, values[0], metrics, number))


def _name_percentile(run: Run, warnings: list[str]) -> None:
    """Names the percentile in lines of CSV as the totals do. sysbench's default is the 95th."""
    if not run.is_csv or "latency_p95_ms" in run.totals:
        return
    if "latency_p99_ms" not in run.totals:
        warnings.append("its CSV does not tell the percentile of the latency: taken for the 95th, sysbench's default")
        return
    for interval in run.intervals:
        if (value := interval.metrics.pop("workload.latency_p95_us", None)) is not None:
            interval.metrics["workload.latency_p99_us"] = value


def _report_line(number: int, run: Run, end_s: float, text: str) -> None:
    if queue := QUEUE.match(text):
        run.open_loop = True
        if run.intervals and run.intervals[-1].end_s == end_s:
            # A run with a rate reports the requests that wait and those in service.
            run.intervals[-1].metrics["workload.in_flight"] = float(queue[1]) + float(queue[2])
        return
    metrics = _report_metrics(run, text)
    if isinstance(metrics, str):
        run.leave_out(number, metrics)
    else:
        run.intervals.append(Interval(0.0, end_s, metrics, number))


def _report_metrics(run: Run, text: str) -> dict[str, float] | str:
    """The figures of a report, or why they cannot be read."""
    text = run.broken.plain(text)
    if wrong := damaged_figure(text):
        return f"a figure of the report is damaged: {wrong[:50]!r}"
    if REPORT_BEGINS.search(text):
        return f"another report begins in it: {text[:50]!r}"
    if match := FILEIO.fullmatch(text):
        metrics = _fileio_metrics(run, match)
    elif match := EVENTS.fullmatch(text):
        metrics = _event_metrics(run, match)
    else:
        return _not_a_report(text)
    latency, errors = LATENCY.search(text), ERRORS.search(text)
    if latency is None:
        return f"the report has no latency: {text[-50:]!r}"
    told, percent = (latency[2], latency[1]) if latency[2] else (latency[3], latency[4])
    form = errors is not None, len(told.partition(".")[2])
    if run.form not in (None, form):
        return f"the report ends early: {text[-50:]!r}"
    run.form = form
    if float(told) > 0:
        metrics[f"workload.latency_p{percent}_us"] = float(told) * 1000
    if errors is not None:
        metrics["workload.errors_per_s"] = float(errors[1])
    return metrics


def _fileio_metrics(run: Run, match: re.Match[str]) -> dict[str, float]:
    # 0.5 and 1.0 print Mb and MiB for the same 1,048,576 bytes.
    read, written = float(match[1]) * 2**20, float(match[3]) * 2**20
    metrics = {
        "workload.read_bytes_per_s": read,
        "workload.write_bytes_per_s": written,
        "workload.bytes_per_s": read + written,
        "workload.fsync_ops_per_s": float(match[4]),
    }
    block = block_bytes(run.heading)
    if block:
        run.unit = "IOPS"
        metrics["workload.read_ops_per_s"] = read / block
        metrics["workload.write_ops_per_s"] = written / block
        metrics["workload.ops_per_s"] = metrics["workload.throughput"] = (read + written) / block
    else:
        run.unit = "MiB/s"
        metrics["workload.throughput"] = (read + written) / 2**20
    _waiting(run, metrics, threads_of(run.heading))
    return metrics


def _event_metrics(run: Run, match: re.Match[str]) -> dict[str, float]:
    run.unit = "tps"
    rate = float(match[3])
    metrics = {"workload.throughput": rate, "workload.ops_per_s": rate}
    if queries := QUERIES.search(match[4]):
        metrics |= {
            f"workload.{name}": float(value) for name, value in zip(_QUERY_RATES, queries.groups(), strict=True)
        }
    elif queries := QUERIES_05.search(match[4]):
        metrics["workload.read_queries_per_s"] = float(queries[1])
        metrics["workload.write_queries_per_s"] = float(queries[2])
    _waiting(run, metrics, int(match[1]))
    return metrics


def _waiting(run: Run, metrics: dict[str, float], threads: int | None) -> None:
    if threads is not None and not run.open_loop:
        metrics["workload.in_flight"] = float(threads)


def _cell(path: Path, run: Run, number: int | None) -> ImportedCell:
    warnings = []
    if run.failures:
        line, what = run.failures[0]
        warnings.append(f"sysbench failed {counted(len(run.failures), 'time')}, first with (line {line}): {what}")
    warnings += join_checkpoints(run)
    misplaced = place(path, run)
    warnings += _of_its_head(path, run)
    _name_percentile(run, warnings)
    total_s = run.totals.get("total_time_s")
    totals_only: Totals | None = None
    if run.intervals:
        interval_s = run.interval_s
        if total_s is None and total_rate(run.totals, run.unit) is None:
            warnings.append("the totals at the end are missing: sysbench was stopped, or its output cut off")
    elif total_s or total_rate(run.totals, "IOPS") is not None:
        interval_s = total_s or 1.0
        totals_only = Totals(total_s or 0.0, whole_run(path, run))
        warnings += [] if total_s else [NO_LENGTH]
        warnings.append(
            "these are totals, without a series: whether the line was flat cannot be said. "
            "Run sysbench with --report-interval=1"
        )
    else:
        if run.broken.first is not None and not run.failures:
            raise bad_line(path, *run.broken.first)
        line, what = run.failures[0] if run.failures else (run.line, "no report and no totals")
        raise bad_line(path, line, f"sysbench measured nothing: {what}", "look at the run that printed it")
    unread = [*run.broken.notes(), *misplaced]
    warnings += unread
    fileio = any("workload.bytes_per_s" in interval.metrics for interval in run.intervals)
    if totals_only is not None:
        done, size = (of_whole(totals_only, name) for name in ("ops_per_s", "bytes_per_s"))
        fileio = run.unit == "IOPS"
    else:
        done = sum(i.metrics.get("workload.ops_per_s", 0) * (i.end_s - i.start_s) for i in run.intervals)
        size = sum(i.metrics.get("workload.bytes_per_s", 0) * (i.end_s - i.start_s) for i in run.intervals)
    cell = ImportedCell(
        label=stem_of(path) + (f" {number}" if number else ""),
        unit=run.unit,
        intervals=run.intervals,
        interval_s=interval_s,
        totals_only=totals_only,
        settings=settings(run.heading, fileio=fileio, closed_loop=bool(run.intervals) and not run.open_loop),
        layers={"workload": "real", "storage": "real"} if fileio else {"workload": "real", "database": "real"},
        latency_us=latency_of(run.totals),
        operations=round(done),
        bytes=round(size),
        errors=int(run.totals.get("errors", 0)),
        warnings=warnings,
        unread=unread,
        began=run.began,
        has_year=run.has_year,
        totals={"sysbench_version": run.version, **run.totals},
    )
    if run.intervals:
        total = total_rate(run.totals, run.unit)
        # fileio of 1.1 does not tell how long it ran: its reports do, but for what came behind the last one.
        tell_difference(cell, total, total_s or run.intervals[-1].end_s)
        if total_s is None:
            tell_slower(cell, total)
    return cell


def _of_its_head(path: Path, run: Run) -> list[str]:
    """What is to be told of the settings of a run: they are missing, or change in it."""
    found = []
    if run.version == UNKNOWN and not run.is_csv and run.intervals:
        begin_s = run.intervals[0].start_s
        before = f" and the {begin_s:,.0f} s before its first report" if begin_s > 0 else ""
        found.append(f"the head of its output is missing: its settings{before} are not known")
    if not run.open_loop:
        having = [one for one in run.intervals if "workload.in_flight" in one.metrics]
        for then, now in pairwise(having):
            threads = [one.metrics["workload.in_flight"] for one in (then, now)]
            if threads[0] != threads[1]:
                counts = f"{threads[0]:.0f} threads until here, and {threads[1]:.0f} from here on"
                found.append(f"{path.name}:{now.line}: {counts}: its figures are of no one number of them")
                break
    return found
