"""The transactions of a workload on database servers, real or modelled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeVar

from flatwater.experiment import Experiment
from flatwater.experiment import Oltp as OltpWorkload
from flatwater.experiment import Tpcc as TpccWorkload
from flatwater.experiment.workload.oltp import Mode


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
class Tpcc:
    """TPC-C: `TpccSpec` of crates/real and of crates/model."""

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


Transactions = Tpcc | Oltp
#: The plan of the workload, or of its tables only.
AnyOltp = TypeVar("AnyOltp", bound=OltpTables)


def write_transactions(cell: Experiment) -> Transactions:
    """The plan of a cell's transactions."""
    workload = cell.transactions
    if isinstance(workload, TpccWorkload):
        return Tpcc(workload.warehouses, workload.pipeline, workload.keying_and_think)
    return write_oltp(workload, Oltp)


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
