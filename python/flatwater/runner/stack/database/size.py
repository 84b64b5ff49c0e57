"""The size of the data of a database workload, on real servers and on modelled ones."""

from __future__ import annotations

from flatwater.experiment import Experiment, Oltp, Tpcc

#: Sizes on disk, to choose memory and to check space: measured on InnoDB with 16 KiB pages.
_WAREHOUSE_BYTES = 100 * 2**20
_OLTP_ROW_BYTES = 240


def estimate_bytes(cell: Experiment) -> int:
    """The approximate size of the data on disk."""
    workload = cell.workload
    if isinstance(workload, Tpcc):
        return workload.warehouses * _WAREHOUSE_BYTES
    assert isinstance(workload, Oltp)
    return workload.tables * workload.rows * _OLTP_ROW_BYTES
