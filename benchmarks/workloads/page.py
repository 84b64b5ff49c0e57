"""docs/models/generations.md: what transactions cost on each measured server.

Every figure is from the files of `workloads/`. The page changes with them, and a test holds it to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.tables import table
from flatwater.experiment import print_size
from flatwater.experiment.database.generation import SERIES, Series, release_of
from flatwater.experiment.database.measured import MeasuredCell, MeasuredWorkload, load_workload, workload_files
from flatwater.experiment.units import parse_size
from flatwater.fit.workload.counters import PAGE_BYTES

PAGE = Path(__file__).parents[2] / "docs" / "models" / "generations.md"
#: What the note of a file says of them.
_OTHERS = re.compile(r"[\d.]+ of the machine's \d+ cores")
_HEAD = """\
# What differs between generations of servers
`python -m benchmarks.workloads` writes this page from the files of `workloads/`, which `flatwater fit workload` made
from runs on real servers; with `measure` it makes those runs, too.
[The modelled InnoDB](innodb.md#what-was-measured-flatwater-fit-workload) says how.

CPU times are of the processors below, and longer where other programs used the cores meanwhile (the last section).
Compare servers by their pages and redo rather than by CPU. A page requested has no cost of its own: it is part of a
statement's. "Below" is a figure that the run could not separate from the others, so the others include it.
"""
_TPCC = """\
## TPC-C
For each New-Order, with the transactions that come with it. Pages read and written are those of the smallest pool with
the largest redo log, where pages are written only when they leave the pool. The CPU time of a New-Order is that of the
largest pool, which holds all data. Sizes are those right after the load.
"""
_OLTP = """\
## sysbench's OLTP
For each transaction; statements and page requests are means over the scripts. Redo is that of one change of the kind.
"""
_FILES = """\
## Which model takes which file
The model of a server takes what was measured on its own series: `tpcc-SERVER` and `oltp-SERVER`. Where no server of the
series was measured, it takes the nearest one. `database.workload` names another file.
"""


def measured_servers(kind: str) -> list[MeasuredWorkload]:
    """The files of a kind of workload: by flavour, then by version."""
    files = [load_workload(name) for name in workload_files()]

    def place(one: MeasuredWorkload) -> tuple[str, tuple[int, ...]]:
        flavour, _, version = one.generation.partition("-")
        return flavour, release_of(version)

    return sorted((one for one in files if one.workload == kind), key=place)


def page() -> str:
    """The page."""
    parts = [
        _HEAD,
        _TPCC,
        _measured("tpcc", _TPCC_COLUMNS),
        "",
        _OLTP,
        _measured("oltp", _OLTP_COLUMNS),
        "",
        _FILES,
        _which(),
        "",
        "## The processors, and what others used of them",
        table(["file", "processor", "other programs"], ([f"`{name}`", *_where(name)] for name in workload_files())),
    ]
    return "\n".join(parts) + "\n"


#: The head of a column, and its cell for a file.
Column = tuple[str, Callable[[MeasuredWorkload], str]]


def _measured(kind: str, columns: Sequence[Column]) -> str:
    head = ["server", *(title for title, _ in columns)]
    return table(head, ([_name(one), *(cell(one) for _, cell in columns)] for one in measured_servers(kind)))


def _name(measured: MeasuredWorkload) -> str:
    flavour, _, version = measured.server.partition(" ")
    titles = {"mysql": "MySQL", "mariadb": "MariaDB", "percona": "Percona Server"}
    return f"{titles.get(flavour, flavour)} {version.partition('-')[0]}"


def _log_bytes(measured: MeasuredWorkload, cell: MeasuredCell) -> int:
    name = "innodb_log_file_size"
    written = cell.set.get(f"database.settings.{name}", measured.settings.get(name, 0))
    return parse_size(written) if isinstance(written, int | str) else 0


def _smallest_pool(measured: MeasuredWorkload) -> MeasuredCell:
    return min(measured.cells, key=lambda cell: (cell.pool_bytes, -_log_bytes(measured, cell)))


def _largest_pool(measured: MeasuredWorkload) -> MeasuredCell:
    return max(measured.cells, key=lambda cell: (cell.pool_bytes, _log_bytes(measured, cell)))


def _cpu(kind: str) -> Callable[[MeasuredWorkload], str]:
    def cell(measured: MeasuredWorkload) -> str:
        figure = getattr(measured.cpu_us, kind)
        return "below" if figure.ci95 is None else f"{figure.value:,.0f} ± {figure.ci95:,.0f}"

    return cell


def _redo(kind: str) -> Callable[[MeasuredWorkload], str]:
    def cell(measured: MeasuredWorkload) -> str:
        figure = measured.redo_bytes.get(kind)
        return "below" if figure is None else f"{figure.value:,.0f}"

    return cell


def _data(measured: MeasuredWorkload) -> str:
    pages = sum(index.pages for index in measured.indexes.values())
    return print_size(pages * PAGE_BYTES) if pages else "not told"


_TPCC_COLUMNS: tuple[Column, ...] = (
    ("statements", lambda one: f"{one.statements.value:.1f}"),
    ("pages requested", lambda one: f"{one.page_requests.value:,.0f}"),
    ("pool of the data", lambda one: f"{_smallest_pool(one).pool_share:.0%}"),
    ("pages read", lambda one: f"{_smallest_pool(one).pages_read:.1f}"),
    ("pages written", lambda one: f"{_smallest_pool(one).pages_written:.1f}"),
    ("redo, bytes", _redo("transaction")),
    ("CPU, ms", lambda one: f"{_largest_pool(one).cpu_us / 1000:.2f}"),
    ("a statement, µs", _cpu("statement")),
    ("a page read, µs", _cpu("page_read")),
    ("a page written, µs", _cpu("page_written")),
    ("data", _data),
)
_OLTP_COLUMNS: tuple[Column, ...] = (
    ("statements", lambda one: f"{one.statements.value:.1f}"),
    ("pages requested", lambda one: f"{one.page_requests.value:,.0f}"),
    ("redo of an index update", _redo("index_update")),
    ("of another update", _redo("non_index_update")),
    ("of a delete and insert", _redo("delete_insert")),
    ("a statement, µs", _cpu("statement")),
    ("a page read, µs", _cpu("page_read")),
    ("a page written, µs", _cpu("page_written")),
    ("data", _data),
)


def _which() -> str:
    rows = ([series.name, series.generation, _of(series, "tpcc"), _of(series, "oltp")] for series in SERIES)
    return table(["server, from version", "modelled as", "TPC-C", "sysbench's OLTP"], rows)


def _of(series: Series, kind: str) -> str:
    return f"{series.measured(kind)}{'' if series.is_measured(kind) else ', the nearest'}"


def _where(name: str) -> tuple[str, str]:
    measured = load_workload(name)
    others = [found[0] for note in measured.notes if (found := _OTHERS.search(note))]
    # Files of before that was recorded say nothing of either.
    unknown = "" if measured.processor else "not recorded"
    return measured.processor or unknown, others[0] if others else unknown
