from __future__ import annotations

import pytest
from benchmarks.database.loading import Filled, split_table

from flatwater.errors import FlatwaterError

# SHOW CREATE TABLE of MariaDB 10.11, shortened.
WRITTEN = """\
CREATE TABLE `orders` (
  `o_id` int(11) NOT NULL,
  `o_w_id` smallint(6) NOT NULL,
  `o_key` int(11) DEFAULT NULL,
  PRIMARY KEY (`o_w_id`,`o_id`),
  KEY `idx_orders` (`o_w_id`,`o_id`),
  CONSTRAINT `fkey_orders_1` FOREIGN KEY (`o_w_id`) REFERENCES `customer` (`c_w_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci"""


def test_indexes_and_foreign_keys_are_taken_out_to_be_added_later() -> None:
    bare, later = split_table(WRITTEN)
    assert bare == (
        "CREATE TABLE `orders` (\n"
        "  `o_id` int(11) NOT NULL,\n"
        "  `o_w_id` smallint(6) NOT NULL,\n"
        "  `o_key` int(11) DEFAULT NULL,\n"
        "  PRIMARY KEY (`o_w_id`,`o_id`)\n"
        ") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci"
    )
    assert later == [
        "ALTER TABLE `orders` ADD KEY `idx_orders` (`o_w_id`,`o_id`)",
        "ALTER TABLE `orders` ADD CONSTRAINT `fkey_orders_1` FOREIGN KEY (`o_w_id`) REFERENCES `customer` (`c_w_id`)",
    ]


def test_what_is_no_table_is_one_line() -> None:
    with pytest.raises(FlatwaterError, match="not understood: CREATE VIEW"):
        split_table("CREATE VIEW `v` AS select 1")


def test_a_load_is_told_by_the_row() -> None:
    filled = Filled(rows=1_000_000, wall_s=4.0, client_cpu_s=0.5, server_cpu_s=3.5)
    assert filled.rows_per_s == 250_000
    assert filled.cpu_us == pytest.approx(4.0)
