"""Measured workloads: what a transaction cost a real server, in files that `flatwater fit workload` writes."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from flatwater.errors import FlatwaterError
from flatwater.experiment.problem import Table
from flatwater.experiment.shipped import Shipped

#: What a modelled server takes its constants from when nothing else is asked for.
DEFAULTS = {"tpcc": "tpcc-mariadb-10.11", "oltp": "oltp-mariadb-10.11"}


class Figure(Table):
    """A measured figure."""

    value: float = Field(ge=0)
    #: Half-width of its 95 % confidence interval, in its own unit; absent where nothing tells.
    ci95: float | None = Field(default=None, ge=0)


class CpuFigures(Table):
    """Server CPU time, user and system, microseconds of one core."""

    statement: Figure
    page_read: Figure
    page_written: Figure


class IndexSize(Table):
    """How an index lies in its pages, of 16 KiB."""

    leaf_pages: int = Field(ge=1)
    pages: int = Field(ge=1)
    rows: int = Field(ge=0)


class MeasuredCell(Table):
    """What was counted in one cell, for each transaction."""

    #: What was swept.
    set: dict[str, Any] = Field(default_factory=dict)
    pool_bytes: int = Field(gt=0)
    #: The pool's share of the pages of the data.
    pool_share: float = Field(gt=0)
    #: Length of the measured phase, and transactions in it.
    seconds: float = Field(gt=0)
    transactions: int = Field(gt=0)
    #: Transactions before the measured phase: the pool begins empty.
    before: int = Field(ge=0)
    statements: float
    page_requests: float
    pages_read: float
    pages_written: float
    redo_bytes: float
    cpu_us: float


class MeasuredWorkload(Table):
    """One file of `workloads/`. A transaction of tpcc is a New-Order with its companions of the deck."""

    title: str
    workload: Literal["tpcc", "oltp"]
    #: The server that was measured, its generation in the words of `database.generation`, and when.
    server: str
    generation: str
    date: str
    #: The experiment, its settings, and the workload that ran: figures are of its transactions.
    experiment: str
    settings: dict[str, Any] = Field(default_factory=dict)
    reference: dict[str, Any]
    transactions: int = Field(gt=0)
    statements: Figure
    page_requests: Figure
    #: Redo (distance of LSNs) of a transaction, of each kind of change where the run tells them apart.
    redo_bytes: dict[str, Figure]
    cpu_us: CpuFigures
    #: What could not be told apart, and why.
    notes: list[str] = Field(default_factory=list)
    #: `table.index` -> its size at the end.
    indexes: dict[str, IndexSize] = Field(default_factory=dict)
    cells: list[MeasuredCell] = Field(default_factory=list)

    def rows_a_page(self) -> dict[str, int]:
        """Rows of a leaf page, by `table.index`; of those that the server counted."""
        return {name: round(one.rows / one.leaf_pages) for name, one in self.indexes.items() if one.rows}


_WORKLOADS = Shipped(
    MeasuredWorkload,
    "workloads",
    "measured workload",
    "database.workload",
    "`flatwater fit workload RUN --out FILE` writes one",
)
#: Name -> file of every measured workload that comes with flatwater.
workload_files = _WORKLOADS.files
#: The measured workload of a name or a file's path. Errors: UserError, one line.
load_workload = _WORKLOADS.load


def default_workload(kind: str) -> MeasuredWorkload:
    """The measured workload that comes with flatwater for this kind."""
    if DEFAULTS[kind] not in workload_files():
        raise FlatwaterError("the measured workloads are missing", hint="reinstall flatwater")
    return load_workload(DEFAULTS[kind])
