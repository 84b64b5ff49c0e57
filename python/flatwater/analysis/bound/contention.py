"""Sessions that wait for each other: row locks, the locks inside the server, and the write locks of files."""

from __future__ import annotations

from flatwater.analysis.bound.evidence import Database, Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.sessions import SATURATED, SessionTime, session_time
from flatwater.analysis.bound.words import counted, each_second, figure, percent
from flatwater.experiment.database.innodb import InnodbModel


def find(evidence: Evidence) -> Finding | None:
    """The share of the sessions' time in locks."""
    time, database = session_time(evidence), evidence.database
    if time is None:
        return None
    if database is None:
        return _of_writes(evidence, time)
    if evidence.layers.virtual:
        return _of_model(evidence, database, time)
    return _of_rows(database, time)


def _of_rows(database: Database, time: SessionTime) -> Finding | None:
    """Sessions that wait for each other's rows."""
    if time.row_locks is None:
        return None
    retried = {name: count for name, count in database.counters.items() if name in ("deadlocks", "lock_timeouts")}
    return found(
        "contention",
        time.of(time.row_locks),
        "time",
        f"{figure(time.row_locks)} of {counted(time.sessions, 'session')} waited for row locks",
        each_second(database.row_lock_waits_per_s, "waits for a row lock"),
        " and ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in retried.items() if count) or None,
    )


def _of_model(evidence: Evidence, database: Database, time: SessionTime) -> Finding | None:
    """Of a model's row locks and its mutexes, what takes more."""
    both = [_of_rows(database, time) if time.row_locks else None, _of_mutexes(evidence, database)]
    return max((one for one in both if one is not None), key=lambda one: one.share, default=None)


def _of_mutexes(evidence: Evidence, database: Database) -> Finding | None:
    """The mutexes that all threads of a modelled server share, one thread after another."""
    asked = evidence.experiment.database if evidence.experiment is not None else None
    if not isinstance(asked, InnodbModel) or evidence.load.queries_per_s is None:
        return None
    hardware, cpu = asked.hardware, asked.cpu
    statement_us = cpu.mutex_us if cpu.mutex_us is not None else hardware.mutex_us
    read_us = cpu.read_mutex_us if cpu.read_mutex_us is not None else hardware.read_mutex_us
    reads = database.pages_read_per_s.mean if database.pages_read_per_s is not None else 0.0
    held_us = (evidence.load.queries_per_s.mean * statement_us + reads * read_us) * hardware.cpu_scale
    busy = held_us / 1e6 / max(database.servers, 1)
    if busy < SATURATED:
        return None
    return found(
        "contention",
        busy,
        "time",
        f"the mutexes that all threads of a server share were held for {percent(min(busy, 1.0))} of the time",
        each_second(evidence.load.queries_per_s, "statements"),
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
