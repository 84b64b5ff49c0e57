"""Measured workloads: what a transaction cost a real server, in files that `flatwater fit workload` writes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from flatwater.errors import FlatwaterError
from flatwater.experiment.database.generation import generation_of, series_of
from flatwater.experiment.database.lineage import EngineGeneration, engine_generation
from flatwater.experiment.database.settings import Setting
from flatwater.experiment.problem import Table
from flatwater.experiment.shipped import Shipped
from flatwater.results.schema import FieldValues

#: Generations with the redo of MySQL 5.5, and checksums of pages that are computed byte by byte
#: (innodb_checksum_algorithm = innodb); later ones use a CRC that takes hardly any time.
OLDER = ("mysql-5.1", "mysql-5.5", "percona-5.5", "mysql-5.6")
#: Generations that copy a table to add a foreign key, and so build its other indexes entry by entry.
_COPIES = ("mysql-5.1", "mysql-5.5", "percona-5.5")
#: The server whose rows a page models of TPC-C take for those: its indexes are built full.
_FULL = "mariadb-10.11"


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
    set: FieldValues = Field(default_factory=dict)
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
    #: The server that was measured, its flavour with its version (`percona-5.1`), and when.
    server: str
    generation: str
    date: str
    #: The processor on which the CPU times were measured; empty where it was not recorded.
    processor: str = ""
    #: The experiment, its settings, and the workload that ran: figures are of its transactions.
    experiment: str
    settings: dict[str, Setting] = Field(default_factory=dict)
    reference: dict[str, JsonValue]
    transactions: int = Field(gt=0)
    statements: Figure
    page_requests: Figure
    #: Redo (distance of LSNs) of a transaction, of each kind of change where the run tells them apart.
    redo_bytes: dict[str, Figure]
    cpu_us: CpuFigures
    #: What could not be told apart, and why.
    notes: list[str] = Field(default_factory=list)
    #: `table.index` -> its size: of TPC-C as it was loaded, of sysbench's tables at the end.
    indexes: dict[str, IndexSize] = Field(default_factory=dict)
    cells: list[MeasuredCell] = Field(default_factory=list)

    def tells_redo_of(self, generation: str) -> bool:
        """Whether the redo of a generation, or of a server like `mariadb-11.8`, has the measured server's format."""
        own, other = (_engine_generation(one) for one in (self.generation, generation))
        return own == other or (own in OLDER and other in OLDER)

    def rows_a_page(self) -> dict[str, int]:
        """Rows of a leaf page, by `table.index`; of those that were counted.

        TPC-C's on a server that copies tables are those that MariaDB counted in tables of the same schema. A MySQL 5.5
        leaves its indexes three tenths empty, and the model splits each page at the first entry that arrives: with its
        own counts they would grow to twice what they are. With MariaDB's the twin begins with smaller indexes than the
        server and ends with larger ones; it reads and writes within 15 % of it.
        """
        own = self.workload == "oltp" or (self.indexes and _engine_generation(self.generation) not in _COPIES)
        indexes = self.indexes if own else default_workload(self.workload, _FULL).indexes
        return {name: round(one.rows / one.leaf_pages) for name, one in indexes.items() if one.rows}


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


def default_workload(kind: str, server: str) -> MeasuredWorkload:
    """The measured workload that comes with flatwater for a kind of workload on a server.

    `server` is a generation of the model, or any flavour with its version: `mariadb-11.8`.
    """
    name = f"{kind}-{series_of(*flavour_and_version(server)).measured(kind)}"
    if name not in workload_files():
        raise FlatwaterError("the measured workloads are missing", hint="reinstall flatwater")
    return load_workload(name)


def _engine_generation(server: str) -> EngineGeneration:
    return engine_generation(generation_of(*flavour_and_version(server)))


def flavour_and_version(server: str) -> tuple[str, str]:
    """The two parts of a server's name, such as `mariadb-11.8`."""
    flavour, _, version = server.partition("-")
    return flavour, version
