"""TPC-C, in the form of tpcc-mysql, sysbench-tpcc or HammerDB."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from flatwater.experiment.problem import Problem
from flatwater.experiment.workload.timing import problem
from flatwater.experiment.workload.transactions import MAX_CONNECTIONS, Transactions

#: tpcc-mysql's w_id is a SMALLINT.
MAX_WAREHOUSES = 32_767
#: Mean keying and think times, weighted by the mixture (TPC-C 5.11, clauses 5.2.5.4 and 5.2.5.7), seconds.
PAUSE_S = 21.0
#: Of the specification, for each warehouse (TPC-C 5.11, clause 4.2.2).
TERMINALS = 10
#: Sets of nine tables; each table is an open file or several of the server.
MAX_TABLE_SETS = 1000
#: InnoDB's limit for a table (8192 since MySQL 5.6.7, 1024 before).
MAX_PARTITIONS = 1024

#: Its nine tables, as tpcc-mysql names them.
TABLES = ("warehouse", "district", "customer", "history", "new_orders", "orders", "order_line", "item", "stock")

Variant = Literal["tpcc-mysql", "sysbench-tpcc", "tproc-c"]
#: Field -> the variants that have it.
_OF_VARIANTS: dict[str, tuple[Variant, ...]] = {
    "table_sets": ("sysbench-tpcc",),
    "foreign_keys": ("sysbench-tpcc",),
    "history_key": ("sysbench-tpcc", "tproc-c"),
    "all_warehouses": ("tproc-c",),
    "partitions": ("tproc-c",),
    "pipeline": ("tpcc-mysql", "tproc-c"),
}
#: Units that count as HammerDB does.
_HAMMERDB_UNITS = ("NOPM", "tpm")


class Tpcc(Transactions):
    """The five transactions of TPC-C over some warehouses, each about 100 MB."""

    SCHEMA: ClassVar[str] = "tpcc"

    kind: Literal["tpcc"] = "tpcc"
    #: The program whose tables and transactions these are.
    variant: Variant = "tpcc-mysql"
    #: Of each set of tables: sysbench-tpcc's --scale, HammerDB's count of warehouses.
    warehouses: int = Field(default=10, ge=1, le=MAX_WAREHOUSES)
    #: Sets of all nine tables (warehouse1, warehouse2, ...): sysbench-tpcc's --tables.
    table_sets: int = Field(default=1, ge=1, le=MAX_TABLE_SETS)
    #: The tables have foreign keys: sysbench-tpcc's --use_fk. Its sessions do not check them.
    foreign_keys: bool = True
    #: A number as the primary key of `history`: sysbench-tpcc's --force_pk, HammerDB's history_pk.
    history_key: bool = False
    #: Each client uses its share of all warehouses, and not one: HammerDB's allwarehouse.
    all_warehouses: bool = False
    #: Partitions of `order_line` by warehouse; 0: none. HammerDB's partition makes one for each 100 warehouses.
    partitions: int = Field(default=0, ge=0, le=MAX_PARTITIONS)
    #: Keying and think times of the specification. Without them, each connection is always busy, as in tpcc-mysql.
    keying_and_think: bool = False
    #: Connections for each warehouse, in place of `connections`. None: as `connections` says. Where that is not given
    #: and terminals key and think: ten, as in the specification.
    terminals_per_warehouse: int | None = Field(default=None, ge=1, le=MAX_CONNECTIONS)
    #: Check the specification's consistency conditions after the measurement.
    check_consistency: bool = True
    #: NOTPM counts New-Order transactions a minute, tps every transaction a second. Of tproc-c: NOPM counts those
    #: New-Orders that commit, tpm every transaction a minute.
    unit: Literal["NOTPM", "tps", "NOPM", "tpm"] = "NOTPM"

    @model_validator(mode="after")
    def _derive_connections(self) -> Self:
        if self._terminals is not None:
            # It stays a field that was not given: a sweep of warehouses derives it anew.
            self.__dict__["connections"] = min(self._terminals, MAX_CONNECTIONS)
        return self

    @model_serializer(mode="wrap")
    def _leave_out_derived(self, write: SerializerFunctionWrapHandler) -> dict[str, object]:
        written: dict[str, object] = write(self)
        if self._terminals is not None:
            written.pop("connections", None)
        return written

    @property
    def _terminals(self) -> int | None:
        """The number of connections that follows from the warehouses; None: it is given."""
        if "connections" in self.model_fields_set:
            return None
        a_warehouse = self.terminals_per_warehouse or (TERMINALS if self.keying_and_think else None)
        return None if a_warehouse is None else a_warehouse * self.warehouses

    @property
    def table_names(self) -> tuple[str, ...]:
        if self.variant == "sysbench-tpcc":
            return tuple(f"{name}{number}" for number in range(1, self.table_sets + 1) for name in TABLES)
        if self.variant == "tproc-c":
            return tuple("new_order" if name == "new_orders" else name for name in TABLES)
        return TABLES

    @property
    def pause_s(self) -> float:
        return PAUSE_S if self.keying_and_think else 0.0

    def conflicts(self) -> Iterator[Problem]:
        """Two settings of the pace, or of the number of connections."""
        if self.terminals_per_warehouse is not None and "connections" in self.model_fields_set:
            what = "terminals_per_warehouse and connections both say how many connections there are"
            yield problem("terminals_per_warehouse", what, "keep one", "connections")
        if self._terminals is not None and self._terminals > MAX_CONNECTIONS:
            a_warehouse = self._terminals // self.warehouses
            what = f"{a_warehouse} terminals for each of {self.warehouses:,} warehouses are {self._terminals:,} "
            what += f"connections, more than the limit of {MAX_CONNECTIONS:,}"
            others = ("keying_and_think", "terminals_per_warehouse", "connections")
            yield problem("warehouses", what, "fewer warehouses, or connections = 10000 for fewer terminals", *others)
        if self.keying_and_think and self.rate_per_s:
            what = "keying_and_think and rate_per_s both set the pace"
            yield problem("keying_and_think", what, "keep one", "rate_per_s")
        yield from self._variant_conflicts()
        yield from super().conflicts()

    def _variant_conflicts(self) -> Iterator[Problem]:
        """Fields and units that the variant does not have."""
        for name, variants in _OF_VARIANTS.items():
            if self.variant not in variants and getattr(self, name) != type(self).model_fields[name].default:
                having = " or ".join(f'"{variant}"' for variant in variants)
                what = f'is not a field of the variant "{self.variant}"'
                yield problem(name, what, f"take it out, or workload.variant = {having}", "variant")
        if self.unit in _HAMMERDB_UNITS and self.variant != "tproc-c":
            what = f'"{self.unit}" is HammerDB\'s way to count, and the variant is "{self.variant}"'
            yield problem("unit", what, 'unit = "NOTPM", or workload.variant = "tproc-c"', "variant")
