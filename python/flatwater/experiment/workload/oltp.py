"""sysbench's OLTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from flatwater.experiment.problem import Problem
from flatwater.experiment.workload.timing import problem
from flatwater.experiment.workload.transactions import Transactions

#: sysbench's tables are sbtest1, sbtest2, ...; each is an open file or several of the server.
MAX_TABLES = 10_000
#: sysbench's id is an INTEGER.
MAX_ROWS = 2**31 - 1
#: Statements of one sort in a transaction: undo of more than this measures something else.
MAX_STATEMENTS = 10_000

Mode = Literal[
    "read_only", "read_write", "write_only", "point_select", "update_index", "update_non_index", "insert", "delete"
]
#: Fields that say how many statements of a sort a transaction has, where the mode is a mixture.
_READS = ("point_selects", "simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges")
_WRITES = ("index_updates", "non_index_updates", "delete_inserts")
_MIXTURES = {"read_only": _READS, "read_write": (*_READS, *_WRITES), "write_only": _WRITES}


def _mode(value: Any) -> Any:
    return value.removeprefix("oltp_").removesuffix(".lua") if isinstance(value, str) else value


class Oltp(Transactions):
    """sysbench's OLTP scripts; every default is sysbench 1.0's."""

    SCHEMA: ClassVar[str] = "sbtest"

    kind: Literal["oltp"] = "oltp"
    #: sysbench's scripts; `oltp_read_write` and `oltp_read_write.lua` are accepted.
    mode: Annotated[Mode, BeforeValidator(_mode)]
    tables: int = Field(default=1, ge=1, le=MAX_TABLES)
    #: Of each table: sysbench's --table-size.
    rows: int = Field(default=10_000, ge=1, le=MAX_ROWS)
    #: Rows of a range.
    range_size: int = Field(default=100, ge=1, le=MAX_ROWS)
    #: Which rows: sysbench's --rand-type.
    distribution: Literal["uniform", "special", "pareto", "zipfian", "gaussian"] = "special"
    #: Numbers that are averaged, for special and gaussian: sysbench's --rand-spec-iter.
    spec_iter: int = Field(default=12, ge=1, le=1000)
    #: Percent of the rows that are special.
    spec_pct: int = Field(default=1, ge=1, le=100)
    #: Percent of the choices that fall on special rows.
    spec_res: int = Field(default=75, ge=0, le=99)
    #: A share 1 - h of the choices falls on a share h of the rows.
    pareto_h: float = Field(default=0.2, gt=0, lt=1)
    zipfian_exp: float = Field(default=0.8, ge=0, le=100)
    point_selects: int = Field(default=10, ge=0, le=MAX_STATEMENTS)
    simple_ranges: int = Field(default=1, ge=0, le=MAX_STATEMENTS)
    sum_ranges: int = Field(default=1, ge=0, le=MAX_STATEMENTS)
    order_ranges: int = Field(default=1, ge=0, le=MAX_STATEMENTS)
    distinct_ranges: int = Field(default=1, ge=0, le=MAX_STATEMENTS)
    index_updates: int = Field(default=1, ge=0, le=MAX_STATEMENTS)
    non_index_updates: int = Field(default=1, ge=0, le=MAX_STATEMENTS)
    #: Each deletes a row and inserts it again.
    delete_inserts: int = Field(default=1, ge=0, le=MAX_STATEMENTS)
    #: Off: no ranges, whatever the four fields say.
    range_selects: bool = True
    #: Without BEGIN and COMMIT: each statement is a transaction of its own.
    skip_trx: bool = False
    #: Prepared statements; off: text, as sysbench's --db-ps-mode=disable.
    prepared: bool = True
    #: The server numbers the rows, not the client.
    auto_inc: bool = True
    #: A secondary index on the id in place of the primary key.
    secondary: bool = False
    #: tps counts transactions a second, qps statements.
    unit: Literal["tps", "qps"] = "tps"

    @property
    def table_names(self) -> tuple[str, ...]:
        return tuple(f"sbtest{number}" for number in range(1, self.tables + 1))

    def conflicts(self) -> Iterator[Problem]:
        """Transactions of no statements."""
        counts = _MIXTURES.get(self.mode, ())
        used = [name for name in counts if self.range_selects or not name.endswith("_ranges")]
        if counts and not any(getattr(self, name) for name in used):
            what = f'a transaction of "{self.mode}" has no statements'
            yield problem(used[0], what, f"more than 0 of one of: {', '.join(used)}", "mode", "range_selects", *counts)
        yield from super().conflicts()
