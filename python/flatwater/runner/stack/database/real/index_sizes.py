"""How large indexes of a server are: by its own statistics, or by what InnoDB 5.5 prints of its dictionary."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from flatwater.errors import FlatwaterError
from flatwater.server import Instance

#: MySQL 5.6, MariaDB 10.0 and later keep their statistics in tables.
_STATISTICS = (
    "SELECT s.database_name, s.table_name, s.index_name, MAX(IF(s.stat_name = 'n_leaf_pages', s.stat_value, 0)), "
    "MAX(IF(s.stat_name = 'size', s.stat_value, 0)), MAX(t.n_rows) "
    "FROM mysql.innodb_index_stats s JOIN mysql.innodb_table_stats t USING (database_name, table_name) "
    "GROUP BY s.database_name, s.table_name, s.index_name ORDER BY s.table_name, s.index_name"
)
#: "Table doesn't exist": the server is older than these.
_MISSING = "(error 1146)"

#: InnoDB 5.5 prints its dictionary to the error log while a table of this name exists, whatever is in it: each minute,
#: first a minute after the server's start, and looks every 15 s (srv0srv.c, srv_monitor_thread).
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
    """How large an index is: `pages` of 16 KiB, leaf pages among them, and the rows of its table."""

    table: str
    index: str
    leaf_pages: int
    pages: int
    rows: int


def index_sizes(instance: Instance, schema: str, stop: Callable[[], bool] = lambda: False) -> list[Size]:
    """Leaf pages, pages and rows of every index of a schema, as the server itself has them.

    Empty when it does not answer: it may have died, and the run is no worse without them. A server without tables of
    statistics is waited for up to half a minute, unless `stop()` says that nobody wants to; one that has run for less
    than a minute tells nothing.
    """
    if not instance.running:
        return []
    try:
        rows = [row for row in instance.query(_STATISTICS, columns=6) if row[0] == schema]
    except FlatwaterError as error:
        return read_monitor(_printed(instance, schema, stop, 0.0), schema) if _MISSING in str(error) else []
    return [
        Size(table=str(table), index=str(index), leaf_pages=int(leaves or 0), pages=int(pages or 0), rows=int(n or 0))
        for _, table, index, leaves, pages, n in rows
    ]


def print_loaded(instance: Instance, schema: str, stop: Callable[[], bool]) -> None:
    """Lets a server without tables of statistics print the sizes of what was loaded to its error log.

    Waits until it has run for a minute. What fails is no error: sizes are not needed to measure.
    """
    try:
        instance.query(_STATISTICS)
    except FlatwaterError as error:
        if _MISSING in str(error):
            _printed(instance, schema, stop, _MONITOR_AGE_S)


def loaded_sizes(log: Path, schema: str) -> list[Size]:
    """What `print_loaded` left in an error log; empty if there is nothing."""
    try:
        return read_monitor(log.read_text(errors="replace"), schema)
    except OSError:
        return []


def _printed(instance: Instance, schema: str, stop: Callable[[], bool], patience_s: float) -> str:
    """The dictionary, for which a server's age is waited for at most `patience_s`; "" when there is none to be had."""
    try:
        ((_, told),) = instance.query("SHOW GLOBAL STATUS LIKE 'Uptime'")
        missing_s = max(_MONITOR_AGE_S - float(told or 0), 0.0)
        if missing_s > patience_s:
            return ""
        for table, *_ in instance.query(f"SHOW TABLES FROM `{schema}`", columns=1):
            # Pages are counted anew; else the numbers are as old as the last sixteenth of rows that changed.
            instance.query(f"ANALYZE TABLE `{schema}`.`{table}`")
        start = instance.error_log.stat().st_size
        instance.query(f"CREATE TABLE `{schema}`.{_MONITOR} (a INT) ENGINE = InnoDB")
        try:
            return _awaited(instance, start, stop, missing_s + _MONITOR_WAIT_S)
        finally:
            instance.query(f"DROP TABLE `{schema}`.{_MONITOR}")
    except (FlatwaterError, OSError, ValueError):
        return ""


def _awaited(instance: Instance, start: int, stop: Callable[[], bool], patience_s: float) -> str:
    """What the error log has behind `start` once the dictionary is in it, or when nobody waits any more."""
    until = time.monotonic() + patience_s
    while True:
        with instance.error_log.open("rb") as handle:
            handle.seek(start)
            text = handle.read().decode(errors="replace")
        if _END in text or stop() or time.monotonic() > until or not instance.running:
            return text
        time.sleep(_LOOK_S)


def read_monitor(text: str, schema: str) -> list[Size]:
    """Indexes of a schema in InnoDB's last whole print of its dictionary; none if there is none."""
    found: list[Size] = []
    table, rows, index = "", 0, ""
    for line in text.rpartition(_END)[0].rpartition(_BEGINNING)[2].splitlines():
        if (match := _TABLE.match(line)) is not None:
            own = match[1] == schema and match[2] != _MONITOR
            table, rows = (match[2], int(match[3])) if own else ("", 0)
        elif (match := _INDEX.match(line)) is not None:
            index = match[1]
        elif table and (match := _PAGES.match(line)) is not None:
            found.append(Size(table=table, index=index, leaf_pages=int(match[1]), pages=int(match[2]), rows=rows))
    return sorted(found, key=lambda one: (one["table"], one["index"]))
