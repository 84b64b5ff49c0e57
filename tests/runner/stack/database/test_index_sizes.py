"""What InnoDB 5.5 prints of its dictionary."""

from __future__ import annotations

from pathlib import Path

from flatwater.runner.stack.database.real.index_sizes import loaded_sizes, read_monitor

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


def test_a_log_that_is_not_there_tells_nothing(tmp_path: Path) -> None:
    assert loaded_sizes(tmp_path / "error.log", "tpcc") == []
    (tmp_path / "error.log").write_text(PRINTED.format(rows=800793) + END)
    assert loaded_sizes(tmp_path / "error.log", "tpcc") == FOUND
