"""A server's status counters -> the series of the layer `database`.

The names of the series are those of flatwater's own probe of servers; a test compares both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from flatwater.results.importers.samplers.sampler import Sample
from flatwater.results.importers.samplers.whole_seconds import EVENED, evened

#: Variables of SHOW GLOBAL STATUS in lower case -> the series of their rates. Of several of one series, the first.
RATES = {
    "innodb_pages_written": "pages_flushed_per_s",
    "innodb_buffer_pool_pages_flushed": "pages_flushed_per_s",
    "innodb_buffer_pool_pages_lru_flushed": "pages_flushed_lru_per_s",
    "innodb_pages_read": "pages_read_per_s",
    "innodb_buffer_pool_read_ahead": "pages_read_ahead_per_s",
    "innodb_buffer_pool_read_requests": "read_requests_per_s",
    "innodb_buffer_pool_wait_free": "free_page_waits_per_s",
    "innodb_log_waits": "log_waits_per_s",
    "innodb_log_writes": "log_writes_per_s",
    "innodb_os_log_fsyncs": "log_fsyncs_per_s",
    "innodb_os_log_written": "log_bytes_per_s",
    "innodb_dblwr_pages_written": "doublewrite_pages_per_s",
    "innodb_dblwr_writes": "doublewrite_writes_per_s",
    "innodb_row_lock_waits": "row_lock_waits_per_s",
    "innodb_data_reads": "data_reads_per_s",
    "innodb_data_writes": "data_writes_per_s",
    "innodb_data_read": "data_read_bytes_per_s",
    "innodb_data_written": "data_written_bytes_per_s",
    "innodb_data_fsyncs": "data_fsyncs_per_s",
    "queries": "queries_per_s",
}
GAUGES = {
    "innodb_checkpoint_age": "checkpoint_age_bytes",
    "innodb_checkpoint_max_age": "checkpoint_age_max_bytes",
    "innodb_buffer_pool_pages_dirty": "dirty_pages",
    "innodb_buffer_pool_pages_data": "pages_data",
    "innodb_buffer_pool_pages_free": "pages_free",
    "innodb_buffer_pool_pages_misc": "pages_misc",
    "innodb_history_list_length": "history_length",
    "history_list_length": "history_length",
    "threads_running": "threads_running",
    "threads_connected": "threads_connected",
}
#: Counters that make the line of throughput where no benchmark tells it: commits, else statements of clients.
COMMITS, STATEMENTS = ("com_commit",), "questions"
#: LSNs, whose distance is the checkpoint age of servers without Innodb_checkpoint_age.
_LSN = ("innodb_lsn_current", "innodb_redo_log_current_lsn")
_CHECKPOINT = ("innodb_lsn_last_checkpoint", "innodb_redo_log_checkpoint_lsn")
#: Of which the value itself is read, and not how fast it grows.
ABSOLUTE = frozenset({*GAUGES, *_LSN, *_CHECKPOINT})
KNOWN = frozenset({*RATES, *GAUGES, *COMMITS, STATEMENTS, *_LSN, *_CHECKPOINT, "uptime"})
#: The throughput; beside a run it is called transactions_per_s.
_LINE = ("workload.throughput", "workload.ops_per_s", "database.transactions_per_s")
#: What is counted from one reading to the next.
COUNTS = frozenset({*(f"database.{name}" for name in RATES.values()), *_LINE})


class Reading(NamedTuple):
    """One reading: its moment, the counters by their names in lower case, and its line in the file."""

    at_s: float
    figures: Mapping[str, float]
    line: int


class RestartNote(str):
    """The note that the server was restarted: its line stood still there, for a time that nothing tells."""

    __slots__ = ()


def evened_readings(readings: Sequence[Reading], notes: list[str]) -> list[Reading]:
    """The readings with times that skip no seconds; a note tells where they did."""
    own_times = [reading.at_s for reading in readings]
    times = evened(own_times, [_counted(before, now) for before, now in pairwise(readings)])
    if times != own_times:
        notes.append(EVENED)
    return [reading._replace(at_s=at_s) for reading, at_s in zip(readings, times, strict=True)]


def _counted(before: Reading, now: Reading) -> float | None:
    """What was committed, or else asked, between two readings; None if that is not known."""
    for name in (*COMMITS, STATEMENTS):
        if name in before.figures and now.figures.get(name, 0.0) > before.figures[name]:
            return now.figures[name] - before.figures[name]
    return None


def status_samples(readings: Sequence[Reading], notes: list[str]) -> tuple[list[Sample], str]:
    """The samples of absolute readings, and the unit of their throughput ("" if there is none).

    Where the server was restarted, no counter has a rate in that interval, even if it is larger than before, and a
    note tells it. Its gauges are readings as any. A single counter that went down (FLUSH STATUS) has no rate.
    """
    unit = _unit(readings)
    samples = []
    restarts: list[int] = []
    fell: list[int] = []
    unsure = False
    before: Reading | None = None
    for number, now in enumerate(readings, 1):
        at_s, figures, line = now
        metrics = {f"database.{name}": figures[one] for one, name in GAUGES.items() if one in figures}
        metrics |= _derived(figures)
        if before is not None and at_s > before.at_s:
            if _restarted(before.figures, figures):
                restarts.append(number)
            else:
                metrics |= _rates(before, now, unit)
                if _went_back(before.figures, figures):
                    fell.append(line)
                    unsure = unsure or not _tells_restarts(before.figures, figures)
            samples.append(Sample(at_s, metrics, line, at_s - before.at_s))
        before = now
    if restarts:
        times = f" {len(restarts)} times, first" if len(restarts) > 1 else ""
        notes.append(RestartNote(f"the server was restarted{times} before reading {restarts[0]}: no rates there"))
    if fell:
        times = f" {len(fell)} times, first" if len(fell) > 1 else ""
        told = f"counters went back{times} in line {fell[0]} (a restart, or FLUSH STATUS): no rates of them there"
        notes.append(RestartNote(told) if unsure else told)
    return samples, unit


def _went_back(before: Mapping[str, float], now: Mapping[str, float]) -> bool:
    """Whether the counters that make the line of throughput are lower than before."""
    return any(name in before and name in now and now[name] < before[name] for name in (*COMMITS, STATEMENTS))


def _restarted(before: Mapping[str, float], now: Mapping[str, float]) -> bool:
    """Whether the server was restarted between two readings: Uptime fell, or without it, a counter of InnoDB.

    FLUSH STATUS resets counters of statements, but none of these.
    """
    if "uptime" in before and "uptime" in now:
        return now["uptime"] < before["uptime"]
    return any(name in before and name in now and now[name] < before[name] for name in RATES if name[:7] == "innodb_")


def _tells_restarts(before: Mapping[str, float], now: Mapping[str, float]) -> bool:
    """Whether two readings have a counter that only a restart resets. Without one, nothing tells FLUSH STATUS apart."""
    names = ("uptime", *(name for name in RATES if name[:7] == "innodb_"))
    return any(name in before and name in now for name in names)


def _rates(before: Reading, now: Reading, unit: str) -> dict[str, float]:
    length_s = now.at_s - before.at_s

    def rate(name: str) -> float | None:
        if name not in now.figures or name not in before.figures or now.figures[name] < before.figures[name]:
            return None
        return (now.figures[name] - before.figures[name]) / length_s

    found: dict[str, float] = {}
    for name, metric in RATES.items():
        if (value := rate(name)) is not None:
            found.setdefault(f"database.{metric}", value)
    throughput = rate(COMMITS[0] if unit == "tps" else STATEMENTS) if unit else None
    if throughput is not None:
        found["workload.throughput"] = found["workload.ops_per_s"] = throughput
    return found


def _derived(figures: Mapping[str, float]) -> dict[str, float]:
    found = {}
    lsn = next((figures[name] for name in _LSN if name in figures), None)
    checkpoint = next((figures[name] for name in _CHECKPOINT if name in figures), None)
    if "innodb_checkpoint_age" not in figures and lsn is not None and checkpoint is not None:
        found["database.checkpoint_age_bytes"] = max(0.0, lsn - checkpoint)
    pages = [figures.get(f"innodb_buffer_pool_pages_{name}") for name in ("dirty", "data", "free")]
    if pages[0] is not None and pages[1] is not None and pages[2] is not None:
        # As flatwater's probe computes it; the 1 guards against an empty pool.
        found["database.dirty_pct"] = 100 * pages[0] / (1 + pages[1] + pages[2])
    return found


def _unit(readings: Sequence[Reading]) -> str:
    """Tps where commits were counted, else qps where statements were."""
    if len(readings) < 2:
        return ""
    first, last = readings[0].figures, readings[-1].figures
    if any(name in last and last[name] != first.get(name, last[name]) for name in COMMITS):
        return "tps"
    return "qps" if STATEMENTS in last else ""
