"""Which figures a server has, and under which names. The probe queries this once in each session, and never infers it
from a version number.

Servers of one version number differ (Percona's and MariaDB's report more than MySQL's), and names come and go. Each
figure has a list of places where it may be, the best first. The probe reads it from the first place that this server
has.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from flatwater._engine import Connection, EngineError
from flatwater.probe.server.limit import VARIABLES, age_max_bytes
from flatwater.probe.server.missing import Counters, gaps_of
from flatwater.results.observation import Gap
from flatwater.server.answers import rows_of

#: Names are compared in lower case: Percona's `Innodb_buffer_pool_pages_LRU_flushed` is MariaDB's `..._lru_flushed`.
#: Each figure: (variables of SHOW GLOBAL STATUS, counters of information_schema.INNODB_METRICS).
PLACES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "age": (("innodb_checkpoint_age",), ()),
    "lsn": (("innodb_lsn_current", "innodb_redo_log_current_lsn"), ("log_lsn_current",)),
    "checkpoint_lsn": (("innodb_lsn_last_checkpoint", "innodb_redo_log_checkpoint_lsn"), ("log_lsn_last_checkpoint",)),
    "age_max": (("innodb_checkpoint_max_age",), ()),
    # MySQL's, during and after a resize.
    "redo_capacity": (("innodb_redo_log_capacity_resized",), ()),
    "dirty": (("innodb_buffer_pool_pages_dirty",), ()),
    "data": (("innodb_buffer_pool_pages_data",), ()),
    "free": (("innodb_buffer_pool_pages_free",), ()),
    # Frames of the adaptive hash index, and of locks.
    "misc": (("innodb_buffer_pool_pages_misc",), ()),
    # Pages whose write has completed, of every kind of flushing. The older name is the number of pages that batches
    # begin to write, and MySQL 5.5.9 counts each page twice there.
    "flushed": (("innodb_pages_written", "innodb_buffer_pool_pages_flushed"), ()),
    "flushed_adaptive": ((), ("buffer_flush_adaptive_total_pages",)),
    "flushed_sync": ((), ("buffer_flush_sync_total_pages",)),
    # The second counter is MySQL 5.6's: MySQL 5.7 has one for pages that are evicted in a batch, too.
    "flushed_lru": (
        ("innodb_buffer_pool_pages_lru_flushed",),
        ("buffer_lru_batch_flush_total_pages", "buffer_lru_batch_total_pages"),
    ),
    "flushed_background": ((), ("buffer_flush_background_total_pages",)),
    "read": (("innodb_pages_read",), ()),
    "read_requests": (("innodb_buffer_pool_read_requests",), ()),
    "read_ahead": (("innodb_buffer_pool_read_ahead",), ()),
    "misses": (("innodb_buffer_pool_reads",), ()),
    "free_waits": (("innodb_buffer_pool_wait_free",), ()),
    "log_waits": (("innodb_log_waits",), ()),
    "log_written": (("innodb_os_log_written",), ()),
    "log_writes": (("innodb_log_writes",), ()),
    "log_fsyncs": (("innodb_os_log_fsyncs",), ()),
    # MariaDB's only.
    "binlog_groups": (("binlog_group_commits",), ()),
    "doublewrite_pages": (("innodb_dblwr_pages_written",), ()),
    "doublewrite_writes": (("innodb_dblwr_writes",), ()),
    "history": (("innodb_history_list_length",), ("trx_rseg_history_len",)),
    "row_lock_waits": (("innodb_row_lock_waits",), ()),
    "row_lock_ms": (("innodb_row_lock_time",), ()),
    "threads_running": (("threads_running",), ()),
    "threads_connected": (("threads_connected",), ()),
    "data_reads": (("innodb_data_reads",), ()),
    "data_writes": (("innodb_data_writes",), ()),
    "data_read_bytes": (("innodb_data_read",), ()),
    "data_written_bytes": (("innodb_data_written",), ()),
    "data_fsyncs": (("innodb_data_fsyncs",), ()),
    "queries": (("queries",), ()),
    # The work of a server whose clients are not flatwater's.
    "questions": (("questions",), ()),
    "uptime_s": (("uptime",), ()),
    "commits": (("com_commit",), ()),
    "rollbacks": (("com_rollback",), ()),
    "xa_commits": (("com_xa_commit",), ()),
    "xa_rollbacks": (("com_xa_rollback",), ()),
    "selects": (("com_select",), ()),
    "inserts": (("com_insert",), ()),
    "insert_selects": (("com_insert_select",), ()),
    "updates": (("com_update",), ()),
    "multi_updates": (("com_update_multi",), ()),
    "deletes": (("com_delete",), ()),
    "multi_deletes": (("com_delete_multi",), ()),
    "replaces": (("com_replace",), ()),
    "replace_selects": (("com_replace_select",), ()),
    "deadlocks": (("innodb_deadlocks",), ("lock_deadlocks",)),
}
#: MySQL 5.6 to 8.0.29 reports the age itself only here, and only if the counter is enabled.
AGE_METRIC = "log_lsn_checkpoint_age"
#: Servers' errors for a privilege that is missing (1142 and 1044: on a table or schema, 1227: a global one).
REFUSED = ("(error 1142)", "(error 1044)", "(error 1227)")
#: Lines of SHOW ENGINE INNODB STATUS. The built-in InnoDB of 5.1 prints an LSN as two words of 32 bits.
MONITOR = {
    "lsn": re.compile(r"^Log sequence number\s+(\d+)(?: (\d+))?\s*$", re.MULTILINE),
    "checkpoint_lsn": re.compile(r"^Last checkpoint at\s+(\d+)(?: (\d+))?\s*$", re.MULTILINE),
    "history": re.compile(r"^History list length (\d+)()\s*$", re.MULTILINE),
}


@dataclass(frozen=True)
class Answer:
    """The figures of a server at one moment."""

    figures: dict[str, float]
    #: Statements that were sent for them.
    statements: int
    #: How long the server took for the InnoDB monitor; None if it was not asked.
    monitor_s: float | None


@dataclass(frozen=True)
class Names:
    """The queries for this server: the figure, by the name under which it is read."""

    status: Mapping[str, str]
    metrics: Mapping[str, str]
    #: Figures that are only in the InnoDB monitor's text.
    monitor: frozenset[str]
    variables: Mapping[str, str]
    #: What the server could tell, and does not.
    gaps: tuple[Gap, ...] = ()
    #: Threads of its own that it counts as running: nobody waits for them.
    daemons: int = 0
    questions: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        found = [f"SHOW GLOBAL STATUS WHERE Variable_name IN ({_quoted(self.status)})"]
        if self.metrics:
            names = _quoted(self.metrics)
            found.append(f"SELECT name, count FROM information_schema.INNODB_METRICS WHERE name IN ({names})")  # noqa: S608 ours
        object.__setattr__(self, "questions", tuple(found))

    def read(self, connection: Connection) -> dict[str, float]:
        """The server's current figures. Errors: EngineError."""
        return self.ask(connection).figures

    def ask(self, connection: Connection, *, monitor: bool = True) -> Answer:
        """The server's current figures, without those of the InnoDB monitor if it is not to be asked. Errors:
        EngineError.

        Costs a 10.11 server 0.2 ms of one core (SHOW GLOBAL STATUS without the names: 0.35 ms).
        """
        found: dict[str, float] = {}
        took_s = 0.0
        for question, names in zip(self.questions, (self.status, self.metrics), strict=False):
            begun_s = time.monotonic()
            rows = rows_of(connection, question, columns=2)
            took_s = time.monotonic() - begun_s
            for name, value, *_ in rows:
                figure = names.get((name or "").lower())
                number = _number(value)
                if figure is not None and number is not None:
                    found[figure] = number
        asked, monitor_s = len(self.questions), None
        if self.monitor and monitor:
            begun_s = time.monotonic()
            found |= {name: value for name, value in _monitor(connection).items() if name in self.monitor}
            # Less the way to the server, which the question before has had, too.
            asked, monitor_s = asked + 1, max(0.0, time.monotonic() - begun_s - took_s)
        if "threads_running" in found:
            found["threads_running"] = max(0.0, found["threads_running"] - self.daemons)
        if "age" not in found and {"lsn", "checkpoint_lsn"} <= found.keys():
            found["age"] = max(0.0, found["lsn"] - found["checkpoint_lsn"])
        if "age_max" not in found:
            limit = age_max_bytes(self.variables, found.get("redo_capacity"))
            if limit is not None:
                found["age_max"] = limit
        return Answer(found, asked, monitor_s)


def find_names(connection: Connection, *, own: bool) -> Names:
    """Finds out which figures a server has. `own`: flatwater started it, so counters that are off may be switched on.

    Errors: EngineError if the connection is lost. Figures that the account may not see count as absent.
    """
    counted = {(name or "").lower(): value for name, value, *_ in rows_of(connection, "SHOW GLOBAL STATUS", columns=2)}
    there = {*counted}
    innodb = _counters(connection)
    enabled = innodb.enabled
    wanted = [name for _, metrics in PLACES.values() for name in metrics] + [AGE_METRIC]
    if own:
        needless = {metric for status, metrics in PLACES.values() if there & {*status} for metric in metrics}
        needless |= {AGE_METRIC} if there & {*PLACES["age"][0], *PLACES["lsn"][0]} else set()
        for name in wanted:
            if name in enabled and not enabled[name] and name not in needless:
                _quietly(connection, f"SET GLOBAL innodb_monitor_enable = '{name}'")
        innodb = _counters(connection)
    on = {name for name, yes in innodb.enabled.items() if yes}
    status: dict[str, str] = {}
    metrics: dict[str, str] = {}
    for figure, (variables, counters) in PLACES.items():
        if (found := next((name for name in variables if name in there), None)) is not None:
            status[found] = figure
        elif (found := next((name for name in counters if name in on), None)) is not None:
            metrics[found] = figure
    figures = {*status.values(), *metrics.values()}
    if "age" not in figures and not {"lsn", "checkpoint_lsn"} <= figures and AGE_METRIC in on:
        metrics[AGE_METRIC] = "age"
        figures.add("age")
    lacking = set() if "age" in figures else {"lsn", "checkpoint_lsn"} - figures
    lacking |= {"history"} - figures
    monitor = frozenset(lacking & _monitor(connection).keys()) if lacking else frozenset[str]()
    if "lsn" in monitor:
        # The rate of the log is that of the LSN, also where the monitor is not asked every time.
        status = {name: figure for name, figure in status.items() if figure != "log_written"}
    rows = _quietly(connection, f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({_quoted(VARIABLES)})")
    told = {row[0].lower(): row[1] or "" for row in rows if len(row) > 1 and row[0]}
    figures |= monitor | ({"age"} if {"lsn", "checkpoint_lsn"} <= figures | monitor else set())
    places = {figure: names for figure, (_, names) in PLACES.items()} | {"age": (AGE_METRIC,)}
    daemons = _daemons(connection, _number(counted.get("threads_running")))
    return Names(status, metrics, monitor, told, gaps_of(figures, innodb, places), daemons)


#: What the process list calls threads of replication that count as running.
_REPLICATING = (
    "SELECT COUNT(*) FROM information_schema.PROCESSLIST "
    "WHERE COMMAND IN ('Binlog Dump', 'Binlog Dump GTID', 'Slave_IO', 'Slave_SQL', 'Slave_worker') "
    # A receiver that does not reach its source.
    "OR (COMMAND = 'Connect' AND USER = 'system user' AND VERSION() LIKE '%MariaDB%')"
)


def _daemons(connection: Connection, running: float | None) -> int:
    """Threads that a server counts as running, and that are no client in a statement, now.

    Servers that were tried count those that send the binary log to replicas. MariaDB counts its threads of replication,
    too, MySQL 5.7 and 8.0 do not. All but MariaDB 10.2 count the event scheduler, on by default since MySQL 8.0. With
    nobody else in the count, it is not in it. On a busy server that cannot be seen: it counts as counted.
    """
    if running is None:
        return 0
    counted = _quietly(connection, _REPLICATING)
    of_replication = int((_number(counted[0][0]) if counted and counted[0] else None) or 0)
    rows = _quietly(connection, "SHOW GLOBAL VARIABLES LIKE 'event_scheduler'")
    is_on = bool(rows) and len(rows[0]) > 1 and rows[0][1] == "ON"
    return of_replication + int(is_on and running > 1 + of_replication)


def _counters(connection: Connection) -> Counters:
    """The counters of INNODB_METRICS and whether they count."""
    try:
        rows = connection.query("SELECT * FROM information_schema.INNODB_METRICS")
    except EngineError as error:
        connection.query("SELECT 1")
        return Counters({}, refused=any(sign in str(error) for sign in REFUSED))
    columns = [column.lower() for column in connection.columns] if rows else []
    # MySQL has STATUS enabled or disabled. MariaDB has the same, or from 10.4 on ENABLED 1 or 0.
    where = next((columns.index(name) for name in ("status", "enabled") if name in columns), None)
    if where is None or "name" not in columns:
        return Counters({})
    name = columns.index("name")
    whole = [row for row in rows if len(row) > max(name, where)]
    return Counters({(row[name] or "").lower(): row[where] in ("enabled", "1") for row in whole})


def _monitor(connection: Connection) -> dict[str, float]:
    rows = _quietly(connection, "SHOW ENGINE INNODB STATUS")
    text = (rows[0][-1] or "") if rows and rows[0] else ""
    return parse_monitor(text)


def thread_of(connection: Connection) -> int | None:
    """The server's thread of this session, by the number that the kernel gave it; None if the server does not tell.

    MariaDB has it in its list of processes. MySQL has it in performance_schema.
    """
    for question in (
        "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()",
        "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()",
    ):
        rows = _quietly(connection, question)
        number = _number(rows[0][0]) if rows and rows[0] else None
        if number:
            return int(number)
    return None


def parse_monitor(text: str) -> dict[str, float]:
    """LSNs (bytes) and history length from the text of SHOW ENGINE INNODB STATUS, without figures that it does not
    contain.
    """
    found = {}
    for figure, pattern in MONITOR.items():
        if (match := pattern.search(text)) is not None:
            high, low = match.groups()
            found[figure] = float((int(high) << 32) + int(low)) if low else float(high)
    return found


def _quietly(connection: Connection, question: str) -> list[tuple[str | None, ...]]:
    """The rows; none if the server refuses (no such table or setting, no right). EngineError if the server is gone."""
    try:
        return connection.query(question)
    except EngineError:
        connection.query("SELECT 1")
        return []


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def _quoted(names: Mapping[str, str] | tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)
