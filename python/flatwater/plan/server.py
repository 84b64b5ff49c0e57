"""Database servers: the loading of their data, and transactions on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from flatwater.experiment import Experiment, Tpcc
from flatwater.experiment.database.login import Login
from flatwater.plan.transactions import OltpTables, Transactions, write_oltp, write_transactions
from flatwater.plan.units import interval_ms

#: All experiments use the same data, whatever their seed, so that they can share a snapshot.
DATASET_SEED = 1


@dataclass(frozen=True)
class RealDatabase:
    """Transactions on servers: `database::run::Spec` of crates/real."""

    workload: Transactions
    #: The connections are assigned to the servers in turn.
    servers: tuple[Login, ...]
    #: The number on all servers together.
    connections: int
    #: The kind of transaction in the counter of each instance; None: all kinds.
    counted: str | None
    #: 0: closed loop.
    rate_per_s: float
    poisson: bool
    continue_on_error: bool
    seed: int
    interval_ms: int


@dataclass(frozen=True)
class TpccData:
    """TPC-C's rows."""

    warehouses: int
    seed: int
    kind: Literal["tpcc"] = "tpcc"


@dataclass(frozen=True)
class OltpData:
    """The rows of sysbench's tables."""

    #: The tables.
    spec: OltpTables
    seed: int
    kind: Literal["oltp"] = "oltp"


Dataset = TpccData | OltpData


@dataclass(frozen=True)
class Loading:
    """The data to load, and the server: `load::Spec` of crates/real."""

    #: The server, and the schema, which is created if it is missing.
    login: Login
    dataset: Dataset
    threads: int
    #: Use LOAD DATA if the server allows it.
    bulk: bool


def write_real_database(cell: Experiment, logins: Sequence[Login], seed: int) -> RealDatabase:
    """The plan of a cell's transactions on running servers."""
    workload = cell.transactions
    return RealDatabase(
        workload=write_transactions(cell),
        servers=tuple(logins),
        connections=workload.connections,
        counted="new_order" if cell.workload.unit == "NOTPM" else None,
        rate_per_s=workload.rate_per_s,
        poisson=workload.arrival == "poisson",
        continue_on_error=workload.on_error == "continue",
        seed=seed,
        interval_ms=interval_ms(cell),
    )


def write_dataset(cell: Experiment) -> Dataset:
    """The plan of a cell's data."""
    workload = cell.transactions
    if isinstance(workload, Tpcc):
        return TpccData(workload.warehouses, DATASET_SEED)
    return OltpData(write_oltp(workload, OltpTables), DATASET_SEED)
