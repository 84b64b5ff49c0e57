"""Where the sessions' time went.

Little's law: the mean number of sessions in a place is the rate at which they come there, times how long they stay. So
the sessions of a closed loop can be counted place by place: on a processor, waiting for one, in a row lock, in the read
of a page, in a commit. Each number divided by all sessions is a share of the time of every transaction.

A place is None where nothing that was recorded tells it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flatwater.analysis.bound.evidence import Database, Device, Evidence
from flatwater.analysis.bound.line import Line
from flatwater.analysis.bound.unloaded import Unloaded, unloaded
from flatwater.experiment import ModelledStorage

#: Of tpcc-mysql's deck of 23 cards, those that change something: New-Order, Payment and Delivery.
_TPCC_WRITERS = 21 / 23
#: oltp's modes that commit no change.
_READERS = ("read_only", "point_select")
#: A commit waits for its own sync, and for what is left of the one that is under way: half of it.
_SYNCS_OF_A_COMMIT = 1.5
#: A processor that is busy for less than this share of its time makes nobody wait long: at 0.95, a queue with random
#: arrivals holds twenty times the time of one request (M/M/1, 1 / (1 - utilisation)).
SATURATED = 0.95


@dataclass(frozen=True)
class SessionTime:
    """Mean numbers of sessions; `of(number)` is a share of the time."""

    sessions: float
    #: Running: in the server, and in the load generator.
    server_cpu: float | None = None
    client_cpu: float | None = None
    #: Able to run, and waiting for a processor.
    cpu_wait: float | None = None
    row_locks: float | None = None
    #: In a read of a page, or in a request of fileio.
    reading: float | None = None
    #: In a commit that waits for the log to be durable.
    committing: float | None = None
    #: In the server's own locks, its queues, or its waits for other threads, besides those above.
    waiting: float | None = None
    #: Waiting for room in the redo log, or writing pages to make it; and the same for a free page. Only a model tells.
    log_room: float | None = None
    frames: float | None = None
    #: Mean length of a sync of the log, where it is known.
    sync_us: float | None = None
    read_us: float | None = None
    #: Whether the places were seen (threads were sampled, requests timed) or follow from what is left.
    seen: bool = True

    def of(self, number: float | None) -> float:
        """The share of the sessions' time; 0 of what is not known."""
        return 0.0 if number is None or self.sessions <= 0 else min(max(number / self.sessions, 0.0), 1.0)


def session_time(evidence: Evidence) -> SessionTime | None:
    """Where the sessions' time went; None where not even their number is known."""
    load = evidence.load
    sessions = _mean(load.in_flight) if load.rate_per_s or load.thinks else load.concurrency
    sessions = sessions if sessions else _mean(load.in_flight)
    if not sessions:
        return None
    if evidence.database is None:
        return _of_requests(evidence, sessions)
    if evidence.layers.virtual:
        return _of_model(evidence, evidence.database, sessions)
    return _of_server(evidence, evidence.database, sessions)


def cores_used(database: Database) -> float | None:
    """Cores that the servers used."""
    return _cores(database.cpu_user_pct, database.cpu_system_pct)


def client_cores(evidence: Evidence) -> float | None:
    """Cores that the load generator used; of a server on another machine it is not part of that machine's."""
    return _cores(evidence.load.client_user_pct, evidence.load.client_system_pct)


def commits_per_s(evidence: Evidence) -> float:
    """Transactions a second that change something."""
    rate = _mean(evidence.load.ops_per_s) or 0.0
    workload = evidence.experiment.workload if evidence.experiment is not None else None
    if evidence.load.kind == "tpcc":
        return rate * _TPCC_WRITERS
    return 0.0 if workload is None or getattr(workload, "mode", "") in _READERS else rate


def durable_commits(database: Database) -> bool:
    """Whether a commit waits for a sync: of the redo log, or of the binary log."""
    variables = database.variables
    binlog = variables.on("log_bin") is True and (variables.number("sync_binlog") or 0) == 1
    return binlog or variables.number("innodb_flush_log_at_trx_commit") == 1


def log_syncs_per_s(database: Database) -> float | None:
    """Syncs of the logs a second; MariaDB does not count them, and writes the log once for each."""
    logs = [_mean(one) for one in (database.log_fsyncs_per_s, database.binlog_fsyncs_per_s)]
    known = [one for one in logs if one is not None]
    return sum(known) if known else _mean(database.log_writes_per_s)


def _of_requests(evidence: Evidence, sessions: float) -> SessionTime:
    """Fileio: whoever is in no processor is in a request."""
    client, wait = client_cores(evidence), _cores(evidence.load.client_wait_pct)
    used = (client or 0.0) + (wait or 0.0)
    rest = max(0.0, sessions - used)
    rate, syncs = _mean(evidence.load.ops_per_s), _mean(evidence.load.fsync_ops_per_s) or 0.0
    syncing, sync_us = 0.0, None
    fsync, others = evidence.load.latency_us.get("fsync"), evidence.load.latency_us.get("all")
    if syncs and rate and fsync is not None and fsync.p50 is not None:
        # Medians stand for means: the shares of both are what is asked for.
        sync_us = fsync.p50
        whole = syncs * sync_us + rate * ((others.p50 if others is not None else None) or 0.0)
        syncing = rest * syncs * sync_us / whole
    read_us = 1e6 * (rest - syncing) / rate if rate else None
    return SessionTime(
        sessions,
        client_cpu=client,
        cpu_wait=wait,
        reading=rest - syncing,
        committing=syncing,
        sync_us=sync_us,
        read_us=read_us,
    )


def _of_server(evidence: Evidence, database: Database, sessions: float) -> SessionTime:
    waits = [_cores(one) for one in (database.cpu_wait_pct, evidence.load.client_wait_pct)]
    known = [one for one in waits if one is not None]
    rows = _cores(database.row_lock_pct)
    syncs, in_sync = log_syncs_per_s(database), _mean(database.threads_syncing)
    fsyncs = max(_mean(database.data_fsyncs_per_s) or 0.0, syncs or 0.0)
    sync_us = 1e6 * in_sync / fsyncs if in_sync is not None and fsyncs > 0 else _device_sync_us(evidence.device)
    reading, read_us = _reads(evidence, database)
    waiting = _mean(database.sessions_waiting)
    committing = None
    if not durable_commits(database):
        committing = 0.0
    elif sync_us is not None and syncs is not None:
        # A commit waits for its own sync, and for what is left of the one that is under way: half of it.
        busy = min(1.0, syncs * sync_us / 1e6)
        committing = commits_per_s(evidence) * sync_us / 1e6 * (1 + busy / 2)
        if waiting is not None:
            committing = min(committing, waiting + (_mean(database.sessions_syncing) or 0.0))
    if waiting is not None:
        waiting = max(0.0, waiting - (rows or 0.0) - (committing or 0.0))
    return SessionTime(
        sessions,
        server_cpu=cores_used(database),
        client_cpu=client_cores(evidence),
        cpu_wait=sum(known) if known else None,
        row_locks=rows,
        reading=reading,
        committing=committing,
        waiting=waiting,
        sync_us=sync_us,
        read_us=read_us,
    )


def _reads(evidence: Evidence, database: Database) -> tuple[float | None, float | None]:
    """Sessions in the read of a page, and how long one takes: as it was sampled, or from the device's answers."""
    rate = max(0.0, (_mean(database.pages_read_per_s) or 0.0) - (_mean(database.pages_read_ahead_per_s) or 0.0))
    sampled, device = _mean(database.sessions_reading), evidence.device
    timed = None
    if device is not None and device.read_await_us is not None:
        # What the kernel's page cache answered never reached the device.
        reached = min(rate, _mean(device.read_ops_per_s) or rate)
        timed = reached * device.read_await_us.mean / 1e6
    if timed is None and sampled is None:
        return (0.0, None) if rate == 0 and database.pages_read_per_s is not None else (None, None)
    # A wait that ends while it is looked at is seen as running: of short reads too few are sampled.
    reading = max(sampled or 0.0, timed or 0.0)
    return reading, (1e6 * reading / rate if rate > 0 else None)


def _device_sync_us(device: Device | None) -> float | None:
    """A write and a flush of the device's cache, where the kernel timed both."""
    if device is None or device.flush_await_us is None or device.write_await_us is None:
        return None
    return device.write_await_us.mean + device.flush_await_us.mean


def _of_model(evidence: Evidence, database: Database, sessions: float) -> SessionTime:
    """A modelled server. Its sessions run, or wait for something: the waits are told apart by their numbers."""
    used, cores = cores_used(database) or 0.0, evidence.machine.cores or np.inf
    running = min(used, sessions)
    rest = sessions - running
    if used >= SATURATED * cores:
        return SessionTime(sessions, server_cpu=running, cpu_wait=rest, row_locks=0.0, reading=0.0, committing=0.0)
    reads = max(0.0, (_mean(database.pages_read_per_s) or 0.0) - (_mean(database.pages_read_ahead_per_s) or 0.0))
    commits = commits_per_s(evidence) if durable_commits(database) else 0.0
    known_times = _times(evidence)
    times = known_times or Unloaded(1.0, 1.0)
    reading = reads * times.read_us / 1e6
    committing = commits * _SYNCS_OF_A_COMMIT * times.sync_us / 1e6
    at_log = _mean(database.flushed_sync_per_s) or 0.0
    for_frames = (_mean(database.flushed_lru_per_s) or 0.0) if _mean(database.free_page_waits_per_s) else 0.0
    left = rest - reading - committing
    if known_times is not None and left > 0 and at_log + for_frames > 0:
        # Whoever waits for room waits for the pages that are written to make it.
        log_room, frames = left * at_log / (at_log + for_frames), left * for_frames / (at_log + for_frames)
    else:
        # Nothing else is waited for: requests queued for longer, or not as long, as their mean says.
        known = reading + committing
        reading, committing = (rest * reading / known, rest * committing / known) if known > 0 else (0.0, 0.0)
        log_room = frames = 0.0
    return SessionTime(
        sessions,
        server_cpu=running,
        cpu_wait=0.0,
        row_locks=0.0,
        reading=reading,
        committing=committing,
        log_room=log_room,
        frames=frames,
        sync_us=1e6 * committing / commits / _SYNCS_OF_A_COMMIT if commits > 0 else None,
        read_us=1e6 * reading / reads if reads > 0 else None,
        seen=False,
    )


def _times(evidence: Evidence) -> Unloaded | None:
    """Of a read and of a sync on the modelled storage, queues included; None where its file does not tell."""
    experiment = evidence.experiment
    slow = _of_storage(experiment.storage, evidence.device) if experiment is not None else None
    flash = experiment.flash_cache if experiment is not None else None
    if slow is None or flash is None or evidence.cache is None:
        return slow
    fast = _of_storage(flash.storage, None)
    ratio = evidence.cache.read_hit_ratio or evidence.cache.hit_ratio
    if fast is None or ratio is None:
        return None
    # A miss is read from the slow device; a write ends on the fast one.
    return Unloaded(ratio.mean * fast.read_us + (1 - ratio.mean) * slow.read_us, fast.sync_us)


def _of_storage(storage: object, device: Device | None) -> Unloaded | None:
    if not isinstance(storage, ModelledStorage):
        return None
    found = unloaded(storage.modelled_device)
    busy = device.busy_pct.mean / 100 if device is not None and device.busy_pct is not None else 0.0
    # M/M/1: at a utilisation u, an answer takes 1 / (1 - u) times as long as it does alone.
    queued = 1 / (1 - min(busy, SATURATED))
    return None if found is None else Unloaded(found.read_us * queued, found.sync_us * queued)


def _mean(line: Line | None) -> float | None:
    return None if line is None else line.mean


def _cores(*lines: Line | None) -> float | None:
    """Percent of one core as cores, or as sessions; None if no part is known."""
    known = [line.mean for line in lines if line is not None]
    return sum(known) / 100 if known else None
