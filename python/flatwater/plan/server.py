"""Database servers: the loading of their data, and transactions on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from flatwater.experiment import Experiment, OwnStatements, Tpcc
from flatwater.experiment.database.login import Login
from flatwater.plan.part import Part
from flatwater.plan.sql import SqlData, write_setup
from flatwater.plan.transactions import OltpTables, TpccMysql, Transactions, write_oltp, write_transactions
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
    #: Of several load hosts, the share of this one; None: the connections above are all.
    part: Part | None
    #: The kind of transaction in the counter of each instance; None: all kinds.
    counted: str | None
    #: Of all hosts together; 0: closed loop.
    rate_per_s: float
    poisson: bool
    continue_on_error: bool
    #: Transactions after which a connection is made again; 0: never.
    reconnect_every: int
    seed: int
    interval_ms: int


@dataclass(frozen=True)
class SysbenchTpccTables:
    """sysbench-tpcc's tables."""

    table_sets: int
    foreign_keys: bool
    history_key: bool
    name: Literal["sysbench-tpcc"] = "sysbench-tpcc"


@dataclass(frozen=True)
class TprocCTables:
    """HammerDB's tables, with its procedures."""

    partitions: int
    history_key: bool
    name: Literal["tproc-c"] = "tproc-c"


TpccTables = TpccMysql | SysbenchTpccTables | TprocCTables


@dataclass(frozen=True)
class TpccData:
    """TPC-C's rows."""

    warehouses: int
    tables: TpccTables
    seed: int
    kind: Literal["tpcc"] = "tpcc"


@dataclass(frozen=True)
class OltpData:
    """The rows of sysbench's tables."""

    #: The tables.
    spec: OltpTables
    seed: int
    kind: Literal["oltp"] = "oltp"


Dataset = TpccData | OltpData | SqlData


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
        part=None,
        counted="new_order" if cell.workload.unit in ("NOTPM", "NOPM") else None,
        rate_per_s=workload.rate_per_s,
        poisson=workload.arrival == "poisson",
        continue_on_error=workload.on_error == "continue",
        reconnect_every=workload.reconnect_every,
        seed=seed,
        interval_ms=interval_ms(cell),
    )


def write_dataset(cell: Experiment) -> Dataset:
    """The plan of a cell's data."""
    workload = cell.transactions
    if isinstance(workload, Tpcc):
        return TpccData(workload.warehouses, _tables(workload), DATASET_SEED)
    if isinstance(workload, OwnStatements):
        return write_setup(cell, DATASET_SEED)
    return OltpData(write_oltp(workload, OltpTables), DATASET_SEED)


def _tables(workload: Tpcc) -> TpccTables:
    match workload.variant:
        case "tpcc-mysql":
            return TpccMysql()
        case "sysbench-tpcc":
            return SysbenchTpccTables(workload.table_sets, workload.foreign_keys, workload.history_key)
        case "tproc-c":
            return TprocCTables(workload.partitions, workload.history_key)
