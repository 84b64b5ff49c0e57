"""What InnoDB 5.5 prints of its dictionary."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from flatwater.errors import FlatwaterError
from flatwater.runner.stack.database.real.index_sizes import index_sizes, read_monitor
from flatwater.server import Instance

# As MySQL 5.5.9 printed it, less columns.
PRINTED = """\
===========================================
261122 14:54:10 INNODB TABLE MONITOR OUTPUT
===========================================
--------------------------------------
TABLE: name SYS_FOREIGN, id 11, flags 0, columns 7, indexes 3, appr.rows 9
  COLUMNS: ID: DATA_VARCHAR DATA_ENGLISH len 0; FOR_NAME: DATA_VARCHAR DATA_ENGLISH len 0;
  INDEX: name ID_IND, id 11, fields 1/6, uniq 1, type 3
   root page 46, appr.key vals 9, leaf pages 1, size pages 1
   FIELDS:  ID DB_TRX_ID DB_ROLL_PTR FOR_NAME REF_NAME N_COLS
--------------------------------------
TABLE: name tpcc/stock, id 28, flags 1, columns 20, indexes 2, appr.rows {rows}
  COLUMNS: s_i_id: DATA_INT DATA_BINARY_TYPE DATA_NOT_NULL len 4;
  INDEX: name PRIMARY, id 39, fields 2/19, uniq 2, type 3
   root page 32781, appr.key vals 799000, leaf pages 16683, size pages 16756
   FIELDS:  s_w_id s_i_id DB_TRX_ID DB_ROLL_PTR s_quantity
  INDEX: name fkey_stock_2, id 40, fields 1/2, uniq 2, type 0
   root page 32782, appr.key vals 101234, leaf pages 920, size pages 1057
   FIELDS:  s_i_id s_w_id
  FOREIGN KEY CONSTRAINT tpcc/fkey_stock_2: tpcc/stock ( s_i_id )
             REFERENCES tpcc/item ( i_id )
--------------------------------------
TABLE: name tpcc/innodb_table_monitor, id 30, flags 1, columns 4, indexes 1, appr.rows 0
  INDEX: name GEN_CLUST_INDEX, id 38, fields 0/4, uniq 1, type 1
   root page 65589, appr.key vals 0, leaf pages 1, size pages 1
--------------------------------------
TABLE: name other/stock, id 31, flags 1, columns 4, indexes 1, appr.rows 7
  INDEX: name PRIMARY, id 41, fields 1/4, uniq 1, type 3
   root page 65590, appr.key vals 7, leaf pages 1, size pages 1
"""
END = "-----------------------------------\nEND OF INNODB TABLE MONITOR OUTPUT\n==================================\n"
FOUND = [
    {"table": "stock", "index": "PRIMARY", "leaf_pages": 16683, "pages": 16756, "rows": 800793},
    {"table": "stock", "index": "fkey_stock_2", "leaf_pages": 920, "pages": 1057, "rows": 800793},
]


def test_sizes_are_those_of_the_schema() -> None:
    assert read_monitor(PRINTED.format(rows=800793) + END, "tpcc") == FOUND


def test_the_last_whole_print_counts() -> None:
    first, last, cut = (PRINTED.format(rows=rows) for rows in (1, 800793, 2))
    assert read_monitor(first + END + last + END + "a line\n" + cut, "tpcc") == FOUND


def test_half_a_print_is_none() -> None:
    assert read_monitor(PRINTED.format(rows=1), "tpcc") == read_monitor("", "tpcc") == []


class _Old:
    """A server of an hour without tables of statistics: it prints its dictionary when the table is made."""

    running = True

    def __init__(self, folder: Path) -> None:
        self.error_log = folder / "error.log"
        self.error_log.write_text("ready for connections\n")
        self.asked: list[str] = []

    def query(self, sql: str, *, columns: int = 0) -> list[tuple[str | None, ...]]:
        self.asked.append(sql)
        if "innodb_index_stats" in sql:
            raise FlatwaterError("Table 'mysql.innodb_index_stats' doesn't exist (error 1146)")
        if sql.startswith("CREATE TABLE"):
            self.error_log.write_text(self.error_log.read_text() + PRINTED.format(rows=800793) + END)
        return [("Uptime", "3600")] if "Uptime" in sql else []


def test_a_server_without_statistics_is_asked_where_the_sizes_are_used(tmp_path: Path) -> None:
    server = _Old(tmp_path)
    instance = cast(Instance, server)
    assert index_sizes(instance, "tpcc", lambda: False, worth_a_wait=False) == []
    assert len(server.asked) == 1, "it is made to print nothing"
    assert index_sizes(instance, "tpcc", lambda: False, worth_a_wait=True) == FOUND
    assert server.asked[-1].startswith("DROP TABLE")


class _Stale:
    """A server whose stored statistics are those of an empty table, until its pages are counted."""

    running = True

    def __init__(self) -> None:
        self.counted: set[str] = set()

    def query(self, sql: str, *, columns: int = 0) -> list[tuple[str | None, ...]]:
        if sql.startswith("SHOW TABLES"):
            return [("sbtest1",), ("sbtest2",)]
        if sql.startswith("ANALYZE"):
            self.counted.add(sql.rpartition("`.`")[2].strip("`"))
            return []
        pages = {table: "7000" if table in self.counted else "1" for table in ("sbtest1", "sbtest2")}
        return [("sbtest", table, "PRIMARY", size, size, "500000") for table, size in pages.items()]


def test_a_server_counts_its_pages_before_it_is_asked_for_them() -> None:
    found = index_sizes(cast(Instance, _Stale()), "sbtest", lambda: False, worth_a_wait=False)
    assert [(one["table"], one["leaf_pages"]) for one in found] == [("sbtest1", 7000), ("sbtest2", 7000)]
