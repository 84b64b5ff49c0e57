"""The size of the data of a database workload, on real servers and on modelled ones."""

from __future__ import annotations

from pathlib import Path

from flatwater.experiment import Experiment, Oltp, OwnStatements, Sql, Tpcc

#: Sizes on disk, to choose memory and to check space: measured on InnoDB with 16 KiB pages.
_WAREHOUSE_BYTES = 100 * 2**20
_OLTP_ROW_BYTES = 240
#: Shares of TPC-C's tables with their indexes: from the sizes of indexes in `workloads/tpcc-*.toml`, means of six
#: servers. What is left out is less than a hundredth.
_TPCC_SHARES = {"stock": 0.37, "order_line": 0.34, "customer": 0.21, "history": 0.04, "orders": 0.02, "item": 0.01}
#: A row of the user's own is not known: an OLTP row and the indexes of its table stay below this as a rule.
_OWN_ROW_BYTES = 500
#: A table on disk compared with the statements that made it: keys and half-full pages.
_OWN_FILE_FACTOR = 2
_OWN_BYTES_MIN = 64 * 2**20


def estimate_bytes(cell: Experiment) -> int:
    """The approximate size of the data on disk."""
    workload = cell.workload
    if isinstance(workload, Tpcc):
        return workload.table_sets * workload.warehouses * _WAREHOUSE_BYTES
    if isinstance(workload, OwnStatements):
        file_bytes = Path(workload.setup_file).stat().st_size if workload.setup_file is not None else 0
        rows = sum(one.times for one in workload.setup) if isinstance(workload, Sql) else 0
        return max(_OWN_BYTES_MIN, _OWN_FILE_FACTOR * file_bytes + rows * _OWN_ROW_BYTES)
    assert isinstance(workload, Oltp)
    return workload.tables * workload.rows * _OLTP_ROW_BYTES


def table_share(cell: Experiment, table: str) -> float:
    """The approximate share of a table, with its indexes, in the data; 0 for a table of the user's own."""
    workload = cell.workload
    if isinstance(workload, Tpcc):
        return _TPCC_SHARES.get(table.rstrip("0123456789"), 0.0) / workload.table_sets
    return 1 / workload.tables if isinstance(workload, Oltp) else 0.0
