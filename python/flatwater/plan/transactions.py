"""The transactions of a workload on database servers, real or modelled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from flatwater.experiment import Experiment
from flatwater.experiment import Oltp as OltpWorkload
from flatwater.experiment import QueryLog as QueryLogWorkload
from flatwater.experiment import Sql as SqlWorkload
from flatwater.experiment import Tpcc as TpccWorkload
from flatwater.experiment.workload.oltp import Mode
from flatwater.plan.sql import QueryLog, Sql, write_query_log, write_sql


@dataclass(frozen=True)
class Uniform:
    """All ids have the same probability."""

    kind: Literal["uniform"] = "uniform"


@dataclass(frozen=True)
class Gaussian:
    """The mean of several uniform numbers."""

    iterations: int
    kind: Literal["gaussian"] = "gaussian"


@dataclass(frozen=True)
class Special:
    """`res` % of the draws go to a range of `pct` % of the ids."""

    iterations: int
    pct: float
    res: float
    kind: Literal["special"] = "special"


@dataclass(frozen=True)
class Pareto:
    """A share h of the ids gets a share 1 - h of the draws."""

    h: float
    kind: Literal["pareto"] = "pareto"


@dataclass(frozen=True)
class Zipfian:
    """The probability of id n is proportional to 1 / n^exponent."""

    exponent: float
    kind: Literal["zipfian"] = "zipfian"


Distribution = Uniform | Gaussian | Special | Pareto | Zipfian


@dataclass(frozen=True)
class TpccMysql:
    """tpcc-mysql, with its statements and its tables."""

    name: Literal["tpcc-mysql"] = "tpcc-mysql"


@dataclass(frozen=True)
class SysbenchTpcc:
    """The statements of sysbench-tpcc."""

    table_sets: int
    name: Literal["sysbench-tpcc"] = "sysbench-tpcc"


@dataclass(frozen=True)
class TprocC:
    """HammerDB's stored procedures."""

    all_warehouses: bool
    name: Literal["tproc-c"] = "tproc-c"


Variant = TpccMysql | SysbenchTpcc | TprocC


@dataclass(frozen=True)
class Tpcc:
    """TPC-C: `TpccSpec` of crates/real and of crates/model."""

    variant: Variant
    warehouses: int
    pipeline: bool
    keying_and_think: bool
    kind: Literal["tpcc"] = "tpcc"


@dataclass(frozen=True)
class OltpTables:
    """sysbench's tables and scripts: `OltpSpec` of crates/core."""

    mode: Mode
    tables: int
    rows: int
    range_size: int
    distribution: Distribution
    point_selects: int
    simple_ranges: int
    sum_ranges: int
    order_ranges: int
    distinct_ranges: int
    index_updates: int
    non_index_updates: int
    delete_inserts: int
    range_selects: bool
    skip_trx: bool
    auto_inc: bool
    secondary: bool
    prepared: bool
    pipeline: bool


@dataclass(frozen=True)
class Oltp(OltpTables):
    """sysbench's OLTP, as one of the workloads."""

    kind: Literal["oltp"] = "oltp"


#: What a modelled server can run: it has their data.
ModelledTransactions: TypeAlias = Tpcc | Oltp
Transactions: TypeAlias = ModelledTransactions | Sql | QueryLog
#: The plan of the workload, or of its tables only.
AnyOltp = TypeVar("AnyOltp", bound=OltpTables)


def write_transactions(cell: Experiment) -> Transactions:
    """The plan of a cell's transactions."""
    if isinstance(cell.workload, SqlWorkload):
        return write_sql(cell)
    if isinstance(cell.workload, QueryLogWorkload):
        return write_query_log(cell)
    return write_modelled_transactions(cell)


def write_modelled_transactions(cell: Experiment) -> ModelledTransactions:
    """The plan of a cell's transactions, for a modelled server too."""
    workload = cell.transactions
    if isinstance(workload, TpccWorkload):
        return Tpcc(write_variant(workload), workload.warehouses, workload.pipeline, workload.keying_and_think)
    return write_oltp(workload, Oltp)


def write_variant(workload: TpccWorkload) -> Variant:
    """The plan of the program whose transactions run."""
    match workload.variant:
        case "tpcc-mysql":
            return TpccMysql()
        case "sysbench-tpcc":
            return SysbenchTpcc(workload.table_sets)
        case "tproc-c":
            return TprocC(workload.all_warehouses)


def write_oltp(workload: object, sort: type[AnyOltp]) -> AnyOltp:
    """The plan of sysbench's workload, or of the tables that it needs (`sort` is the class)."""
    assert isinstance(workload, OltpWorkload)
    return sort(
        mode=workload.mode,
        tables=workload.tables,
        rows=workload.rows,
        range_size=workload.range_size,
        distribution=_distribution(workload),
        point_selects=workload.point_selects,
        simple_ranges=workload.simple_ranges,
        sum_ranges=workload.sum_ranges,
        order_ranges=workload.order_ranges,
        distinct_ranges=workload.distinct_ranges,
        index_updates=workload.index_updates,
        non_index_updates=workload.non_index_updates,
        delete_inserts=workload.delete_inserts,
        range_selects=workload.range_selects,
        skip_trx=workload.skip_trx,
        auto_inc=workload.auto_inc,
        secondary=workload.secondary,
        prepared=workload.prepared,
        pipeline=workload.pipeline,
    )


def _distribution(workload: OltpWorkload) -> Distribution:
    match workload.distribution:
        case "uniform":
            return Uniform()
        case "gaussian":
            return Gaussian(workload.spec_iter)
        case "special":
            return Special(workload.spec_iter, workload.spec_pct, workload.spec_res)
        case "pareto":
            return Pareto(workload.pareto_h)
        case "zipfian":
            return Zipfian(workload.zipfian_exp)
