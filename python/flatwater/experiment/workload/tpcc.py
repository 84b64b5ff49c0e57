"""TPC-C, in the form of tpcc-mysql."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from flatwater.experiment.problem import Problem
from flatwater.experiment.workload.timing import problem
from flatwater.experiment.workload.transactions import Transactions

#: tpcc-mysql's w_id is a SMALLINT.
MAX_WAREHOUSES = 32_767


class Tpcc(Transactions):
    """The five transactions of TPC-C over some warehouses, each about 100 MB."""

    SCHEMA: ClassVar[str] = "tpcc"

    kind: Literal["tpcc"] = "tpcc"
    warehouses: int = Field(default=10, ge=1, le=MAX_WAREHOUSES)
    #: Keying and think times of the specification. Without them, each connection is always busy, as in tpcc-mysql.
    keying_and_think: bool = False
    #: Check the specification's consistency conditions after the measurement.
    check_consistency: bool = True
    #: NOTPM counts New-Order transactions a minute, tps every transaction a second.
    unit: Literal["NOTPM", "tps"] = "NOTPM"

    def conflicts(self) -> Iterator[Problem]:
        """Two settings of the pace."""
        if self.keying_and_think and self.rate_per_s:
            what = "keying_and_think and rate_per_s both set the pace"
            yield problem("keying_and_think", what, "keep one", "rate_per_s")
        yield from super().conflicts()
