"""Where the sessions' time went.

Little's law: the mean number of sessions in a place is the rate at which they come there, times how long they stay. So
the sessions of a closed loop can be counted place by place: on a processor, waiting for one, in a row lock, in the read
of a page, in a commit. Each number divided by all sessions is a share of the time of every transaction.

A place is None where nothing that was recorded tells it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from flatwater.analysis.bound.device import Device
from flatwater.analysis.bound.evidence import Database, Evidence
from flatwater.analysis.bound.line import Line
from flatwater.experiment import Fileio, ModelledStorage, OwnStatements

#: Of tpcc-mysql's deck of 23 cards, those that change something: New-Order, Payment and Delivery.
_TPCC_WRITERS = 21 / 23
#: oltp's modes that commit no change.
_READERS = ("read_only", "point_select")
#: Workloads whose transactions all end with a COMMIT of their own, if they have any.
_COMMITTING = ("tpcc", "oltp")
#: A processor that is busy for less than this share of its time makes nobody wait long: at 0.95, a queue with random
#: arrivals holds twenty times the time of one request (M/M/1, 1 / (1 - utilisation)).
SATURATED = 0.95
#: A place with a smaller share of the sessions' time is not told in the evidence of a bound.
TOLD_MIN = 0.01


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
    #: Of requests of fileio, those that wait until another write to the same file is over.
    write_locks: float | None = None
    #: In a read of a page, or in a request of fileio (with those in `write_locks`).
    reading: float | None = None
    #: In a commit that waits for the log to be durable.
    committing: float | None = None
    #: In the server's own locks, its queues, or its waits for other threads, besides those above.
    waiting: float | None = None
    #: Those that a model tells apart: waiting for mutexes that all threads share; about to change a page that is being
    #: written; between a statement's answer and the next statement (the network, and the client).
    mutexes: float | None = None
    page_latches: float | None = None
    away: float | None = None
    #: Waiting for room in the log buffer: each wait lasts as long as a write of the log.
    log_buffer: float | None = None
    #: Waiting for room in the redo log, or writing pages to make it; and the same for a free page. Only a model tells.
    log_room: float | None = None
    frames: float | None = None
    #: Mean length of a sync of the log, of a commit's wait, and of a page's read, where it is known.
    sync_us: float | None = None
    commit_us: float | None = None
    read_us: float | None = None
    #: Whether a session holds its row locks while it commits: until the binary log is synced, and not for the redo log.
    commits_hold_rows: bool = False

    def of(self, number: float | None) -> float:
        """The share of the sessions' time; 0 of what is not known."""
        return 0.0 if number is None or self.sessions <= 0 else min(max(number / self.sessions, 0.0), 1.0)

    def with_queue(self, number: float | None) -> float:
        """So many sessions of a place, with those that wait for rows which sessions there hold.

        Nobody records which session holds a row. Those that wait for none are taken to hold them, wherever they are.
        """
        here = number or 0.0
        holding = self._besides_commits + (self.committing or 0.0) * self.commits_hold_rows
        return here + ((self.row_locks or 0.0) * min(here / holding, 1.0) if holding > 0 else 0.0)

    @property
    def _besides_commits(self) -> float:
        """Sessions in all places but commits and row locks."""
        places = (
            *(self.server_cpu, self.cpu_wait, self.reading, self.mutexes, self.page_latches, self.away, self.waiting),
            *(self.log_buffer, self.log_room, self.frames),
        )
        return sum(one for one in places if one is not None)

    @property
    def placed(self) -> float:
        """Sessions in all places together."""
        return self._besides_commits + (self.committing or 0.0) + (self.row_locks or 0.0)

    @property
    def in_commits(self) -> float:
        """Sessions in a commit; with those that wait for rows of these, if a commit holds rows."""
        return self.with_queue(self.committing) if self.commits_hold_rows else self.committing or 0.0


def session_time(evidence: Evidence) -> SessionTime | None:
    """Where the sessions' time went; None where not even their number is known."""
    load = evidence.load
    flying = _mean(load.in_flight)
    # With a rate that is not kept, more is due than there are sessions to do it.
    open_loop = min(flying, load.concurrency or flying) if flying else None
    sessions = open_loop if load.rate_per_s or load.pause_s else load.concurrency
    sessions = sessions or flying
    if load.kind == "observed":
        sessions = _active(evidence, sessions or 0.0)
    if not sessions:
        return None
    if evidence.database is None:
        return _of_requests(evidence, sessions)
    if evidence.layers.virtual:
        return _of_model(evidence, evidence.database, sessions)
    return _of_server(evidence, evidence.database, sessions)


def _active(evidence: Evidence, running: float) -> float:
    """Sessions of an observed server that were in a statement.

    The server's own number is seen once a second by a question that waits for a processor itself, and by then others
    may be over. So there are no fewer than were seen in all places together.
    """
    database = evidence.database
    if database is None:
        return running
    seen = (database.sessions_reading, database.sessions_syncing, database.sessions_waiting)
    places = [_mean(one) for one in seen] + [cores_used(database), _cores(database.cpu_wait_pct)]
    return max(running, sum(one for one in places if one is not None))


def cores_used(database: Database) -> float | None:
    """Cores that the servers used."""
    return _cores(database.cpu_user_pct, database.cpu_system_pct)


def client_cores(evidence: Evidence) -> float | None:
    """Cores that the load generator used; of a server on another machine it is not part of that machine's."""
    return _cores(evidence.load.client_user_pct, evidence.load.client_system_pct)


def client_waiting(evidence: Evidence) -> float | None:
    """Threads of the load generator that waited for a processor."""
    return _cores(evidence.load.client_wait_pct)


def commits_per_s(evidence: Evidence) -> float:
    """Transactions a second that change something."""
    if evidence.load.commits_per_s is not None:
        return evidence.load.commits_per_s.mean
    rate = _mean(evidence.load.ops_per_s) or 0.0
    workload = evidence.experiment.workload if evidence.experiment is not None else None
    if evidence.load.kind == "tpcc":
        return rate * _TPCC_WRITERS
    if isinstance(workload, OwnStatements):
        return rate * workload.commits_per_operation
    return 0.0 if workload is None or getattr(workload, "mode", "") in _READERS else rate


def durable_commits(database: Database) -> bool:
    """Whether a commit waits for a sync: of the redo log, or of the binary log."""
    return _durable_redo(database) or _durable_binlog(database)


def redo_syncs_per_s(database: Database) -> float | None:
    """Syncs a second of the redo log, if commits wait for them."""
    return _redo_syncs(database) if _durable_redo(database) else None


def binlog_syncs_per_s(database: Database) -> float | None:
    """Syncs a second of the binary log, if commits wait for them."""
    return _binlog_syncs(database) if _durable_binlog(database) else None


def log_syncs_per_s(database: Database) -> float | None:
    """Syncs a second of the logs for which commits wait; None if they wait for none that was counted."""
    known = [one for one in (redo_syncs_per_s(database), binlog_syncs_per_s(database)) if one is not None]
    return sum(known) if known else None


def _durable_redo(database: Database) -> bool:
    return database.variables.number("innodb_flush_log_at_trx_commit") == 1


def _durable_binlog(database: Database) -> bool:
    variables = database.variables
    return variables.on("log_bin") is True and (variables.number("sync_binlog") or 0) == 1


def _redo_syncs(database: Database) -> float | None:
    """MariaDB does not count them. It writes the log once for each: also of a log that is synced at each commit."""
    counted = _mean(database.log_fsyncs_per_s)
    return counted if counted is not None else _mean(database.log_writes_per_s)


def _binlog_syncs(database: Database) -> float | None:
    """MariaDB does not count them. With sync_binlog = 1, each group of commits is one."""
    counted = _mean(database.binlog_fsyncs_per_s)
    return counted if counted is not None else _mean(database.binlog_groups_per_s)


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
    writes = _mean(evidence.load.write_ops_per_s) or 0.0
    return SessionTime(
        sessions,
        client_cpu=client,
        cpu_wait=wait,
        write_locks=min(_in_write_locks(evidence, sessions, writes), rest - syncing),
        reading=rest - syncing,
        committing=syncing,
        sync_us=sync_us,
        read_us=read_us,
    )


def _in_write_locks(evidence: Evidence, sessions: float, writes_per_s: float) -> float:
    """Requests of fileio above the device: a modelled file system does one write at a time of each file."""
    experiment = evidence.experiment
    storage, workload = (None, None) if experiment is None else (experiment.storage, experiment.workload)
    if not isinstance(storage, ModelledStorage) or not isinstance(workload, Fileio):
        return 0.0
    if not storage.exclusive_writes or not writes_per_s:
        return 0.0
    write = evidence.load.latency_us.get("write")
    # Of a load that only writes, all are in writes: else Little's law tells how many, with the median for the mean.
    writing = sessions if not evidence.load.read_fraction else 0.0
    if evidence.load.read_fraction and write is not None and write.p50 is not None:
        writing = min(sessions, writes_per_s * write.p50 / 1e6)
    return max(0.0, writing - workload.files)


def _of_server(evidence: Evidence, database: Database, sessions: float) -> SessionTime:
    # On hosts of its own, the load generator waits for processors that the server does not use.
    client_wait = None if evidence.load.hosts else evidence.load.client_wait_pct
    waits = [_cores(one) for one in (database.cpu_wait_pct, client_wait)]
    known = [one for one in waits if one is not None]
    rows = _cores(database.row_lock_pct)
    syncs, in_sync = log_syncs_per_s(database), _mean(database.threads_syncing)
    # InnoDB counts those of its own files.
    of_binlog = (_binlog_syncs(database) or 0.0) if _durable_binlog(database) else 0.0
    fsyncs = max((_mean(database.data_fsyncs_per_s) or 0.0) + of_binlog, syncs or 0.0)
    sync_us = 1e6 * in_sync / fsyncs if in_sync is not None and fsyncs > 0 else _device_sync_us(evidence.device)
    reading, read_us = _reads(evidence, database)
    waiting = _mean(database.sessions_waiting)
    durable = durable_commits(database)
    timed, commits = _cores_of_us(evidence.load.commit_us_per_s), commits_per_s(evidence) if durable else 0.0
    committing = None
    if not commits:
        # Who has changed nothing does not wait for the log, although its COMMIT was timed.
        committing = 0.0
    elif timed and evidence.load.kind in _COMMITTING:
        committing = timed
    elif sync_us is not None and syncs is not None:
        # Commits without a statement of their own. Each waits for its own sync, and for what is left of the one that is
        # under way: half of it, if all are alike.
        busy = min(1.0, syncs * sync_us / 1e6)
        committing = commits * sync_us / 1e6 * (1 + busy / 2)
        if waiting is not None:
            committing = min(committing, waiting + (_mean(database.sessions_syncing) or 0.0))
        committing = max(committing, timed or 0.0)
    # The numbers are of different sources, and no session is in a read and in a commit at once.
    both = (reading or 0.0) + (committing or 0.0)
    fits = min(1.0, max(0.0, sessions - (rows or 0.0)) / both) if both > 0 else 1.0
    reading, committing = (None if one is None else one * fits for one in (reading, committing))
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
        log_buffer=_in_log_buffer(database, evidence.device, sync_us, sessions),
        sync_us=sync_us,
        commit_us=1e6 * committing / commits if timed and committing and commits > 0 else None,
        read_us=read_us,
        commits_hold_rows=_durable_binlog(database),
    )


def _in_log_buffer(database: Database, device: Device | None, sync_us: float | None, sessions: float) -> float | None:
    """Sessions that wait for room in the log buffer, which a write of the log makes."""
    waits, written_us = _mean(database.log_buffer_waits_per_s), _mean(device.write_await_us) if device else None
    took_us = written_us if written_us is not None else sync_us
    return None if waits is None or took_us is None else min(waits * took_us / 1e6, sessions)


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


def _of_model(evidence: Evidence, database: Database, sessions: float) -> SessionTime | None:
    """A modelled server knows where its sessions are; None of a result of a model that did not record it."""
    if database.sessions_running is None:
        return None
    reads = max(0.0, (_mean(database.pages_read_per_s) or 0.0) - (_mean(database.pages_read_ahead_per_s) or 0.0))
    commits = commits_per_s(evidence)
    reading, committing = _mean(database.sessions_reading), _mean(database.sessions_committing)
    found = SessionTime(
        sessions,
        server_cpu=_mean(database.sessions_running),
        cpu_wait=_mean(database.sessions_in_cpu_queue),
        row_locks=_mean(database.sessions_in_row_locks),
        mutexes=_mean(database.sessions_in_mutexes),
        page_latches=_mean(database.sessions_in_page_latches),
        reading=reading,
        committing=committing,
        away=_mean(database.sessions_away),
        log_buffer=_mean(database.sessions_in_log_buffer_waits),
        log_room=_mean(database.sessions_in_log_room_waits),
        frames=_mean(database.sessions_in_free_page_waits),
        commit_us=1e6 * committing / commits if committing and commits > 0 else None,
        read_us=1e6 * reading / reads if reading and reads > 0 else None,
        commits_hold_rows=_durable_binlog(database),
    )
    # The places add up to all that do not think: that is more sure than what was sampled once an interval.
    return replace(found, sessions=found.placed or sessions)


def _mean(line: Line | None) -> float | None:
    return None if line is None else line.mean


def _cores_of_us(line: Line | None) -> float | None:
    """Microseconds a second as cores, or as sessions."""
    return None if line is None else line.mean / 1e6


def _cores(*lines: Line | None) -> float | None:
    """Percent of one core as cores, or as sessions; None if no part is known."""
    known = [line.mean for line in lines if line is not None]
    return sum(known) / 100 if known else None
