"""The probe of a run's servers: rates and gauges of the interval that ends now."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence

from flatwater.probe.server.process import Processes
from flatwater.probe.server.sessions import OF_A_RUN, Pace, Sessions
from flatwater.probe.server.watch import CLOSE_S, Also, Login, Reading, Watch
from flatwater.results.observation import Gap

Pids = Sequence[int] | Callable[[], Sequence[int]]

#: Counters of `names.PLACES` and the series of their rates.
RATES = {
    "flushed": "pages_flushed_per_s",
    "flushed_adaptive": "pages_flushed_adaptive_per_s",
    "flushed_sync": "pages_flushed_sync_per_s",
    "flushed_lru": "pages_flushed_lru_per_s",
    "flushed_background": "pages_flushed_background_per_s",
    "read": "pages_read_per_s",
    "read_ahead": "pages_read_ahead_per_s",
    "read_requests": "read_requests_per_s",
    "free_waits": "free_page_waits_per_s",
    "log_waits": "log_waits_per_s",
    "log_writes": "log_writes_per_s",
    "doublewrite_pages": "doublewrite_pages_per_s",
    "doublewrite_writes": "doublewrite_writes_per_s",
    "log_fsyncs": "log_fsyncs_per_s",
    "binlog_groups": "binlog_groups_per_s",
    "row_lock_waits": "row_lock_waits_per_s",
    "data_reads": "data_reads_per_s",
    "data_writes": "data_writes_per_s",
    "data_read_bytes": "data_read_bytes_per_s",
    "data_written_bytes": "data_written_bytes_per_s",
    "data_fsyncs": "data_fsyncs_per_s",
    "queries": "queries_per_s",
}
GAUGES = {
    "age": "checkpoint_age_bytes",
    "age_max": "checkpoint_age_max_bytes",
    "dirty": "dirty_pages",
    "data": "pages_data",
    "free": "pages_free",
    "misc": "pages_misc",
    "history": "history_length",
    "threads_running": "threads_running",
    "threads_connected": "threads_connected",
    "replica_lag_s": "replica_lag_s",
    "replica_appliers_stopped": "replica_appliers_stopped",
    "replica_receivers_stopped": "replica_receivers_stopped",
}
#: One of these is the probe's own session.
OURS = ("threads_running", "threads_connected")
#: The figures that are reported for each of several servers, besides their sum.
EACH = ("checkpoint_age_bytes", "dirty_pct", "pages_flushed_per_s")
#: The share of the interval that a sample may wait for the servers, and the most seconds. Servers answer in a
#: millisecond, on a saturated machine sometimes in a hundred. The probe does not wait again for a late server until it
#: has answered.
WAIT_SHARE, WAIT_MAX_S = 0.3, 0.3
#: The time limit of the first reading, which also queries all names.
FIRST_S = 2.0

#: Gauges and rates of one server over one interval, by figure.
Figures = tuple[dict[str, float], dict[str, float]]


class ServerProbe:
    """`database.*` of the servers of a run, in the order of their numbers.

    There are no figures of a second in which a server was dead or frozen, and no rates of the first second after it.
    The sums of several servers exist while all of them answer. `pids` are their processes, for CPU and memory: none for
    servers on another machine. `own`: flatwater started them, so their InnoDB counters may be switched on.
    """

    def __init__(
        self,
        logins: Sequence[Login],
        pids: Pids = (),
        *,
        own: bool = False,
        pace: Pace = OF_A_RUN,
        also: Also | None = None,
        words: Callable[[str], str] = str,
    ) -> None:
        """`also` is called with the connection to each server after its answers. `words` puts the text of an error into
        the words of whom it is told.
        """
        self._pids, self._words = pids, words
        self._processes = Processes(self._current_pids())
        self._watches = [Watch(login, own=own, also=also, spared=pace.spares) for login in logins]
        self._sessions = Sessions(pids if callable(pids) else lambda: pids, pace)
        # When a probe is dropped, or the program ends, no thread stays in the middle of a query.
        self.close = weakref.finalize(self, _close, self._watches, self._sessions)
        self._sampled_at_s = time.monotonic()
        self._last: list[Reading | None] = self._readings(FIRST_S)

    def sample(self) -> dict[str, float]:
        """The series of the interval that ends now; a server's rates only if it also answered at the start of the
        interval.
        """
        wait_s = min(WAIT_MAX_S, WAIT_SHARE * (time.monotonic() - self._sampled_at_s))
        before, now = self._last, self._readings(wait_s)
        self._last = now
        intervals = [_interval(then, reading) for then, reading in zip(before, now, strict=True)]
        found: dict[str, float] = {}
        answered = [one for one in intervals if one is not None]
        if answered and len(answered) == len(intervals):
            found |= series(answered)
        if len(intervals) > 1:
            for number, one in enumerate(intervals):
                alone = series([one]) if one is not None else {}
                found |= {f"instance{number}_{name}": alone[name] for name in EACH if name in alone}
        found |= self._processes.sample(self._current_pids())
        found |= self._sessions.sample()
        return {f"database.{name}": value for name, value in found.items()}

    @property
    def gaps(self) -> list[Gap]:
        """What the first server does not tell."""
        return list(self._watches[0].gaps) if self._watches else []

    @property
    def sampled_at_s(self) -> float:
        """When `sample` was called last, by time.monotonic()."""
        return self._sampled_at_s

    @property
    def newest(self) -> Reading | None:
        """The first server's answer to the last `sample`; None if there was none in time."""
        return self._last[0] if self._last else None

    @property
    def thread(self) -> int | None:
        """The first server's thread that answers this probe; None if it does not tell."""
        return self._watches[0].own_thread if self._watches else None

    @property
    def trouble(self) -> str:
        """Why the first server did not answer, in the words of the last error."""
        return self._words(self._watches[0].trouble) if self._watches else ""

    def _current_pids(self) -> Sequence[int]:
        return self._pids() if callable(self._pids) else self._pids

    def _readings(self, wait_s: float) -> list[Reading | None]:
        # All servers get their query before the probe waits for any. It does not wait for a server that is late
        # already.
        free = [watch.ask() for watch in self._watches]
        until_s = time.monotonic() + wait_s
        found = [
            watch.answer(self._sampled_at_s, until_s if now else 0.0)
            for watch, now in zip(self._watches, free, strict=True)
        ]
        # Answers that come from now on are late and belong to the next interval.
        self._sampled_at_s = time.monotonic()
        return found


def _close(watches: list[Watch], sessions: Sessions) -> None:
    sessions.end()
    # All servers get the request to end before the probe waits for any: of many servers, all may be frozen.
    for watch in watches:
        watch.end()
    until_s = time.monotonic() + CLOSE_S
    for watch in watches:
        watch.close(until_s)


def _interval(before: Reading | None, now: Reading | None) -> Figures | None:
    """Gauges, and rates a second; a counter that decreased (the server was restarted, FLUSH STATUS) has no rate."""
    if now is None:
        return None
    rates: dict[str, float] = {}
    if before is not None and before.session == now.session and now.at_s > before.at_s:
        for name, value in now.figures.items():
            delta = value - before.figures.get(name, float("inf"))
            if delta >= 0:
                rates[name] = delta / (now.at_s - before.at_s)
        # Of a server that is not asked for its LSN every time, and of the time between the two that it told.
        if (log := now.figures.get("log_rate")) is not None:
            rates["lsn"] = log
    return now.figures, rates


def series(intervals: list[Figures]) -> dict[str, float]:
    """The series of several servers together, without the layer: sums, and ratios of sums."""
    gauges = _summed([gauges for gauges, _ in intervals])
    rates = _summed([rates for _, rates in intervals])
    found = {series: rates[name] for name, series in RATES.items() if name in rates}
    for name, metric in GAUGES.items():
        if name in gauges:
            found[metric] = max(0.0, gauges[name] - len(intervals)) if name in OURS else gauges[name]
    if {"dirty", "data", "free"} <= gauges.keys():
        # The laboratory's formula, whose 1 guards against an empty pool.
        found["dirty_pct"] = 100 * gauges["dirty"] / (1 + gauges["data"] + gauges["free"])
    if rates.get("read_requests", 0.0) > 0 and "misses" in rates:
        found["hit_ratio"] = max(0.0, 1 - rates["misses"] / rates["read_requests"])
    if "row_lock_ms" in rates:
        # Milliseconds a second; 100 = one connection that waits all the time.
        found["row_lock_time_pct"] = rates["row_lock_ms"] / 10
    # By LSN, because Innodb_os_log_written also counts the blocks that a small write rewrites.
    log = rates.get("lsn", rates.get("log_written"))
    if log is not None:
        found["log_bytes_per_s"] = log
    return found


def _summed(parts: list[dict[str, float]]) -> dict[str, float]:
    """Sums of the figures that every part has."""
    shared = set.intersection(*({*part} for part in parts)) if parts else set()
    return {name: sum(part[name] for part in parts) for name in shared}
