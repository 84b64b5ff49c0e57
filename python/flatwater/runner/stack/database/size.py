"""How much the data of a database workload are, on real servers and on modelled ones."""

from __future__ import annotations

from flatwater.experiment import Experiment, Oltp, Tpcc

#: What the data take on disk, for choosing memory and checking space: measured on InnoDB with 16 KiB pages.
_WAREHOUSE_BYTES = 100 * 2**20
_OLTP_ROW_BYTES = 240


def estimate_bytes(cell: Experiment) -> int:
    """About how much the data take on disk."""
    workload = cell.workload
    if isinstance(workload, Tpcc):
        return workload.warehouses * _WAREHOUSE_BYTES
    assert isinstance(workload, Oltp)
    return workload.tables * workload.rows * _OLTP_ROW_BYTES
