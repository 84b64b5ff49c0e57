"""The size of the data of a database workload, on real servers and on modelled ones."""

from __future__ import annotations

from pathlib import Path

from flatwater.experiment import Experiment, Oltp, OwnStatements, Sql, Tpcc

#: Sizes on disk, to choose memory and to check space: measured on InnoDB with 16 KiB pages.
_WAREHOUSE_BYTES = 100 * 2**20
_OLTP_ROW_BYTES = 240
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
