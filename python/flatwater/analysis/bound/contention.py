"""Sessions that wait for each other: row locks, the locks inside the server, and the write locks of files."""

from __future__ import annotations

from flatwater.analysis.bound.evidence import Database, Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.sessions import TOLD_MIN, SessionTime, session_time
from flatwater.analysis.bound.words import counted, each_second, figure


def find(evidence: Evidence) -> Finding | None:
    """The share of the sessions' time in locks."""
    time, database = session_time(evidence), evidence.database
    if time is None:
        return None
    if database is None:
        return _of_writes(evidence, time)
    return _of_sessions(database, time)


def _of_sessions(database: Database, time: SessionTime) -> Finding | None:
    """Sessions that wait for each other. A model also tells who waits for mutexes, and for pages that are written."""
    places = {
        "row locks": time.row_locks,
        "the mutexes that all threads of a server share": time.mutexes,
        "pages that were being written": time.page_latches,
    }
    waiting = {what: number for what, number in places.items() if number and time.of(number) >= TOLD_MIN}
    retried = {name: count for name, count in database.counters.items() if name in ("deadlocks", "lock_timeouts")}
    return found(
        "contention",
        time.of(sum(waiting.values())),
        "time",
        *(
            f"{figure(number)} of {counted(time.sessions, 'session')} waited for {what}"
            for what, number in sorted(waiting.items(), key=lambda one: -one[1])
        ),
        each_second(database.row_lock_waits_per_s, "waits for a row lock") if time.row_locks else None,
        " and ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in retried.items() if count) or None,
    )


def _of_writes(evidence: Evidence, time: SessionTime) -> Finding | None:
    """A file system that does one write at a time of each file keeps the others from the device."""
    if not time.write_locks:
        return None
    device = evidence.device
    return found(
        "contention",
        time.of(time.write_locks),
        "time",
        f"{figure(time.write_locks)} of {counted(time.sessions, 'request')} in flight waited until another write to "
        "the same file was over",
        f"{figure(device.queue_depth.mean)} requests were in the device's queue"
        if device is not None and device.queue_depth is not None
        else None,
        each_second(evidence.load.write_ops_per_s, "writes"),
    )
