"""The sizes of a server's indexes: from its statistics, or from the dictionary that InnoDB 5.5 prints."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TypedDict

from flatwater.errors import FlatwaterError
from flatwater.server import Instance

#: MySQL 5.6, MariaDB 10.0 and later store their statistics in tables.
_STATISTICS = (
    "SELECT s.database_name, s.table_name, s.index_name, MAX(IF(s.stat_name = 'n_leaf_pages', s.stat_value, 0)), "
    "MAX(IF(s.stat_name = 'size', s.stat_value, 0)), MAX(t.n_rows) "
    "FROM mysql.innodb_index_stats s JOIN mysql.innodb_table_stats t USING (database_name, table_name) "
    "GROUP BY s.database_name, s.table_name, s.index_name ORDER BY s.table_name, s.index_name"
)
#: "Table doesn't exist": the server is older than those versions.
_MISSING = "(error 1146)"

#: InnoDB 5.5 prints its dictionary to the error log while a table of this name exists, whatever its content. It checks
#: every 15 s, and prints once a minute, first a minute after the server's start (srv0srv.c, srv_monitor_thread).
_MONITOR = "innodb_table_monitor"
_MONITOR_AGE_S = 60.0
_MONITOR_WAIT_S = 30.0
_LOOK_S = 0.25
_END = "END OF INNODB TABLE MONITOR OUTPUT"
_BEGINNING = " INNODB TABLE MONITOR OUTPUT"
_TABLE = re.compile(r"^TABLE: name (\S+?)/(\S+), id .*appr\.rows (\d+)$")
_INDEX = re.compile(r"^\s*INDEX: name (\S+), id ")
_PAGES = re.compile(r"^\s*root page \d+, .*leaf pages (\d+), size pages (\d+)$")


class Size(TypedDict):
    """The size of an index: all `pages` of 16 KiB, the leaf pages among them, and the rows of its table."""

    table: str
    index: str
    leaf_pages: int
    pages: int
    rows: int


def index_sizes(instance: Instance, schema: str, stop: Callable[[], bool], *, worth_a_wait: bool) -> list[Size]:
    """Leaf pages, pages and rows of each index of a schema, from the server.

    Empty if the server does not answer: it may have died, and the run is valid without the sizes. A server without
    tables of statistics is asked only where the sizes are `worth_a_wait`: the call then waits up to half a minute,
    unless `stop()` returns true. A server younger than a minute gives nothing.
    """
    if not instance.running:
        return []
    try:
        # Asks for the table first: an old server need not count anything anew before it is known to be one.
        instance.query(_STATISTICS, columns=6)
        _count_anew(instance, schema)
        rows = [row for row in instance.query(_STATISTICS, columns=6) if row[0] == schema]
    except FlatwaterError as error:
        asked = worth_a_wait and _MISSING in str(error)
        return read_monitor(_printed(instance, schema, stop), schema) if asked else []
    return [
        Size(table=str(table), index=str(index), leaf_pages=int(leaves or 0), pages=int(pages or 0), rows=int(n or 0))
        for _, table, index, leaves, pages, n in rows
    ]


def _printed(instance: Instance, schema: str, stop: Callable[[], bool]) -> str:
    """The printed dictionary; "" if it is not printed."""
    try:
        ((_, told),) = instance.query("SHOW GLOBAL STATUS LIKE 'Uptime'")
        if float(told or 0) < _MONITOR_AGE_S:
            return ""
        _count_anew(instance, schema)
        start = instance.error_log.stat().st_size
        instance.query(f"CREATE TABLE `{schema}`.{_MONITOR} (a INT) ENGINE = InnoDB")
        try:
            return _awaited(instance, start, stop, _MONITOR_WAIT_S)
        finally:
            instance.query(f"DROP TABLE `{schema}`.{_MONITOR}")
    except (FlatwaterError, OSError, ValueError):
        return ""


def _count_anew(instance: Instance, schema: str) -> None:
    """Lets the server count the pages of its indexes.

    Its numbers are older otherwise: a 5.5 server's by up to a sixteenth of the rows. A MySQL 8.0 said of a table of
    500,000 rows that its primary key had one page, as it was when the loading began.
    """
    for table, *_ in instance.query(f"SHOW TABLES FROM `{schema}`", columns=1):
        instance.query(f"ANALYZE NO_WRITE_TO_BINLOG TABLE `{schema}`.`{table}`")


def _awaited(instance: Instance, start: int, stop: Callable[[], bool], patience_s: float) -> str:
    """The error log from `start` on, once it has the dictionary, or after `stop` or the time limit."""
    until = time.monotonic() + patience_s
    while True:
        with instance.error_log.open("rb") as handle:
            handle.seek(start)
            text = handle.read().decode(errors="replace")
        if _END in text or stop() or time.monotonic() > until or not instance.running:
            return text
        time.sleep(_LOOK_S)


def read_monitor(text: str, schema: str) -> list[Size]:
    """The indexes of a schema in InnoDB's last complete print of its dictionary; empty if there is none."""
    sizes: list[Size] = []
    table, rows, index = "", 0, ""
    for line in text.rpartition(_END)[0].rpartition(_BEGINNING)[2].splitlines():
        if (match := _TABLE.match(line)) is not None:
            own = match[1] == schema and match[2] != _MONITOR
            table, rows = (match[2], int(match[3])) if own else ("", 0)
        elif (match := _INDEX.match(line)) is not None:
            index = match[1]
        elif table and (match := _PAGES.match(line)) is not None:
            sizes.append(Size(table=table, index=index, leaf_pages=int(match[1]), pages=int(match[2]), rows=rows))
    return sorted(sizes, key=lambda one: (one["table"], one["index"]))
