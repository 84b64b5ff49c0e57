"""Measured workloads: what a transaction cost a real server, in files that `flatwater fit workload` writes."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment.problem import Table, quote, suggest

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


def workloads_dir() -> Path:
    """Where the measured workloads are: `workloads/` of the package."""
    return Path(__file__).parents[2] / "workloads"


def workload_files() -> dict[str, Path]:
    """Name -> file of every measured workload that comes with flatwater, by name."""
    return {path.stem: path for path in sorted(workloads_dir().glob("*.toml"))}


def load_workload(written: str) -> MeasuredWorkload:
    """The measured workload of a name or a file's path. Errors: UserError, one line."""
    files = workload_files()
    path = Path(written).expanduser() if "/" in written or written.endswith(".toml") else files.get(written)
    if path is None:
        what = f"there is no measured workload {quote(written)}"
        raise UserError(what, where="database.workload", hint=suggest(written, list(files)))
    return _parsed(path)


@lru_cache(maxsize=16)
def _parsed(path: Path) -> MeasuredWorkload:
    try:
        return MeasuredWorkload.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False)[0]
            why = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        else:
            why = str(error.strerror or error) if isinstance(error, OSError) else str(error)
        hint = "`flatwater fit workload RUN --out FILE` writes one"
        raise UserError(f"{path} is no measured workload: {why}", where="database.workload", hint=hint) from None


def default_workload(kind: str) -> MeasuredWorkload:
    """The measured workload that comes with flatwater for this kind."""
    if DEFAULTS[kind] not in workload_files():
        raise FlatwaterError("the measured workloads are missing", hint="reinstall flatwater")
    return load_workload(DEFAULTS[kind])
