"""From counts to a transaction's figures: means, and least squares for what only several cells tell apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import tomli_w
from scipy.stats import t as student

from flatwater.experiment import Experiment, Oltp, Tpcc
from flatwater.experiment.database.measured import (
    CpuFigures,
    Figure,
    IndexSize,
    MeasuredCell,
    MeasuredWorkload,
)
from flatwater.experiment.tables import Tables
from flatwater.fit.workload.counters import PAGE_BYTES, Counted, CountedCell, Window
from flatwater.runner.stack.database.size import estimate_bytes

Matrix = npt.NDArray[np.float64]

#: Figures are told with so many digits: more than they are known to.
SIGNIFICANT = 5
#: Work that always comes in the same proportion cannot be told apart: past this share of what explains one amount by
#: the others, its cost is not asked for.
ALIKE = 0.98
#: Rows that TPC-C loads for a warehouse (clause 4.3.3.1); of items, for all.
_TPCC_ROWS = {
    "warehouse": 1,
    "district": 10,
    "customer": 30_000,
    "history": 30_000,
    "new_orders": 9_000,
    "orders": 30_000,
    "order_line": 300_000,
    "stock": 100_000,
}
_TPCC_ITEMS = 100_000
#: sysbench's changes, by the kind that is told: how many of each a transaction of a script has.
OLTP_WRITES = ("index_update", "non_index_update", "delete_insert", "transaction")
READ_ONLY = ("read_only", "point_select")


@dataclass(frozen=True)
class Solved:
    """Costs of some kinds of work, and what could not be told."""

    figures: dict[str, Figure]
    notes: list[str]


def derive(counted: Counted) -> MeasuredWorkload:
    """The figures of a transaction that a run of a real server gives."""
    experiment = counted.experiment
    windows = [window for cell in counted.cells for window in cell.windows]
    cpu = _cpu(counted.cells)
    redo = _redo(counted.cells)
    indexes = _indexes(counted)
    notes = [*cpu.notes, *redo.notes]
    if not indexes:
        notes.append("sizes of indexes were not recorded: rows a page follow from the columns")
    transaction = "a New-Order with its companions" if isinstance(experiment.workload, Tpcc) else "a transaction"
    notes.append(f"a transaction is {transaction}; statements and page requests of the mean cell")
    return MeasuredWorkload(
        title=f"{experiment.workload.kind} on {counted.server} {counted.version}",
        workload="tpcc" if isinstance(experiment.workload, Tpcc) else "oltp",
        server=f"{counted.server} {counted.version}".strip(),
        generation=_generation(counted),
        date=counted.result.manifest.created_at[:10],
        experiment=counted.result.name,
        settings=dict(experiment.server.settings),
        reference=_reference(experiment),
        transactions=round(sum(window.transactions for window in windows)),
        statements=_mean(counted.cells, "statements"),
        page_requests=_mean(counted.cells, "page_requests"),
        redo_bytes=redo.figures,
        cpu_us=CpuFigures(**cpu.figures),
        notes=notes,
        indexes=indexes,
        cells=[_cell(cell, indexes) for cell in counted.cells],
    )


def to_workload_toml(found: MeasuredWorkload) -> str:
    """The file of `workloads/`."""
    return tomli_w.dumps(found.model_dump(exclude_none=True))


def _generation(counted: Counted) -> str:
    numbers = ".".join(counted.version.split("-")[0].split(".")[:2])
    return f"{counted.server}-{numbers}"


def _reference(experiment: Experiment) -> Tables:
    workload = experiment.workload
    if isinstance(workload, Tpcc):
        return {"kind": "tpcc", "warehouses": workload.warehouses, "connections": workload.connections}
    assert isinstance(workload, Oltp)
    names = ("mode", "tables", "rows", "distribution", "connections")
    return {"kind": "oltp", **{name: getattr(workload, name) for name in names}}


def _mean(cells: Sequence[CountedCell], name: str) -> Figure:
    """A figure of a transaction: all cells' mean, and by how much cells differ."""
    total = sum(getattr(window, name) for cell in cells for window in cell.windows)
    value = total / sum(window.transactions for cell in cells for window in cell.windows)
    each = [_ratio(cell.windows, name) for cell in cells if cell.windows]
    if len(each) < 2:
        each = [getattr(window, name) / window.transactions for window in cells[0].windows if window.transactions]
    return Figure(value=_rounded(value), ci95=_interval(each))


def _ratio(windows: Sequence[Window], name: str) -> float:
    return float(sum(getattr(w, name) for w in windows) / max(sum(w.transactions for w in windows), 1.0))


def _interval(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    width = float(student.ppf(0.975, len(values) - 1)) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return _rounded(width)


def _cpu(cells: Sequence[CountedCell]) -> Solved:
    """Least squares over all windows: CPU time by statements, pages read and pages written.

    A statement's share has its page requests in it: in these workloads they come in nearly the same number a statement.
    """
    windows = [window for cell in cells for window in cell.windows]
    names = ("statement", "page_read", "page_written")
    fields = ("statements", "pages_read", "pages_written")
    work = np.array([[getattr(window, field) for field in fields] for window in windows])
    cost = np.array([window.cpu_us for window in windows])
    found = _least_squares(work, cost, names, "server CPU")
    for name in names:
        found.figures.setdefault(name, Figure(value=0.0))
    return found


def _redo(cells: Sequence[CountedCell]) -> Solved:
    """Redo of a transaction; of each kind of change where the cells' scripts tell them apart."""
    if not isinstance(cells[0].experiment.workload, Oltp):
        found = _mean(cells, "redo_bytes")
        note = "the deck has a fixed mix: redo is told of a New-Order with its companions, not of each kind"
        return Solved({"transaction": found}, [note])
    writing = [cell for cell in cells if _oltp(cell.experiment).mode not in READ_ONLY]
    rows = [(writes_of(cell.experiment), window) for cell in writing for window in cell.windows]
    if not rows:
        return Solved({}, ["no cell writes: redo was not measured"])
    work = np.array([[one * window.transactions for one in each] for each, window in rows])
    redo = np.array([window.redo_bytes for _, window in rows])
    return _least_squares(work, redo, OLTP_WRITES, "redo")


def _oltp(experiment: Experiment) -> Oltp:
    assert isinstance(experiment.workload, Oltp)
    return experiment.workload


def writes_of(experiment: Experiment) -> tuple[int, int, int, int]:
    """Index updates, other updates, deletes with an insert, and commits of a transaction of sysbench's script."""
    workload = _oltp(experiment)
    if workload.mode == "update_index":
        return (1, 0, 0, 1)
    if workload.mode == "update_non_index":
        return (0, 1, 0, 1)
    return (workload.index_updates, workload.non_index_updates, workload.delete_inserts, 1)


def _least_squares(work: Matrix, cost: Matrix, names: Sequence[str], what: str) -> Solved:
    """Costs >= 0 of kinds of work; kinds that come in a fixed proportion to others are left out, and told."""
    kept, notes = list(range(len(names))), []
    for at in reversed(range(1, len(names))):
        others = [other for other in kept if other != at]
        if not work[:, at].any():
            kept.remove(at)
            notes.append(f"{what}: no {names[at].replace('_', ' ')} was counted")
        elif len(work) <= len(kept) or _explained(work[:, at], work[:, others]) > ALIKE:
            kept.remove(at)
            notes.append(f"{what} of a {names[at].replace('_', ' ')} cannot be told from the rest's, and is in it")
    # Windows of more work weigh as much as those of little: each has its own scale of error.
    weight = 1.0 / np.sqrt(np.maximum(cost, 1.0))
    while True:
        own = work[:, kept] * weight[:, None]
        found, *_ = np.linalg.lstsq(own, cost * weight, rcond=None)
        if (found >= 0).all() or len(kept) == 1:
            break
        worst = kept[int(np.argmin(found))]
        kept.remove(worst)
        notes.append(f"{what} of a {names[worst].replace('_', ' ')} is lost in the noise: nothing")
    width = _widths(own, cost * weight, found)
    figures = {
        names[at]: Figure(value=_rounded(max(0.0, value)), ci95=half)
        for at, value, half in zip(kept, found.tolist(), width, strict=True)
    }
    return Solved(figures, notes)


def _explained(one: Matrix, others: Matrix) -> float:
    """The share of an amount's spread, window by window, that others explain in proportion."""
    if not others.size:
        return 0.0
    found, *_ = np.linalg.lstsq(others, one, rcond=None)
    left = one - others @ found
    return 1.0 - float(left @ left) / float(one @ one)


def _widths(work: Matrix, cost: Matrix, found: npt.NDArray[Any]) -> list[float | None]:
    freedom = len(cost) - len(found)
    if freedom < 1:
        return [None] * len(found)
    left = cost - work @ found
    spread = np.linalg.pinv(work.T @ work) * float(left @ left) / freedom
    wide = float(student.ppf(0.975, freedom))
    return [_rounded(wide * math.sqrt(max(0.0, value))) for value in np.diag(spread).tolist()]


def _indexes(counted: Counted) -> dict[str, IndexSize]:
    """Sizes of indexes with the rows that were loaded.

    TPC-C's tables grow: as they were loaded, or of the cell in which they grew least. sysbench's keep their rows, and
    the cell in which most pages were split tells how full they are in the long run.
    """
    cells, tpcc = counted.cells, isinstance(counted.experiment.workload, Tpcc)
    recorded = [(cell.loaded, cell) for cell in cells if cell.loaded] if tpcc else []
    recorded = recorded or [(cell.indexes, cell) for cell in cells if cell.indexes]
    if not recorded:
        return {}
    pick = min if tpcc else max
    sizes, cell = pick(recorded, key=lambda one: sum(size["pages"] for size in one[0].values()))
    return index_sizes(sizes, cell.experiment)


def index_sizes(recorded: Mapping[str, Mapping[str, int]], experiment: Experiment) -> dict[str, IndexSize]:
    """Sizes of indexes as a server told them (`leaf_pages`, `pages` of each), with the rows that were loaded."""
    found = {}
    for name, size in recorded.items():
        rows = _loaded_rows(name.partition(".")[0], experiment)
        if rows and size["leaf_pages"]:
            found[name] = IndexSize(leaf_pages=size["leaf_pages"], pages=size["pages"], rows=rows)
    return found


def _loaded_rows(table: str, experiment: Experiment) -> int:
    """Rows that the loader put into a table: the server's own number of rows is an estimate from a few pages."""
    workload = experiment.workload
    if isinstance(workload, Tpcc):
        return _TPCC_ITEMS if table == "item" else _TPCC_ROWS.get(table, 0) * workload.warehouses
    return workload.rows if isinstance(workload, Oltp) and table.startswith("sbtest") else 0


def _cell(cell: CountedCell, indexes: Mapping[str, IndexSize]) -> MeasuredCell:
    pages = sum(one.pages for one in indexes.values()) or estimate_bytes(cell.experiment) // PAGE_BYTES
    names = ("statements", "page_requests", "pages_read", "pages_written", "redo_bytes", "cpu_us")
    return MeasuredCell(
        set=cell.set,
        pool_bytes=cell.pool_bytes,
        pool_share=_rounded(cell.pool_bytes / (pages * PAGE_BYTES)),
        seconds=_rounded(sum(window.seconds for window in cell.windows)),
        transactions=round(sum(window.transactions for window in cell.windows)),
        before=round(cell.before),
        **{name: _rounded(_ratio(cell.windows, name)) for name in names},
    )


def _rounded(value: float) -> float:
    return float(f"{value:.{SIGNIFICANT}g}")
