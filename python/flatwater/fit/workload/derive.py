"""From counters to figures for one transaction: means, and least squares for kinds of work that occur together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import tomli_w
from pydantic import JsonValue
from scipy.stats import t as student

from flatwater.experiment import Experiment, Oltp, Tpcc
from flatwater.experiment.database.measured import (
    CpuFigures,
    Figure,
    IndexSize,
    MeasuredCell,
    MeasuredWorkload,
)
from flatwater.fit.workload.counters import PAGE_BYTES, Counted, CountedCell, Window
from flatwater.fit.workload.others import OTHERS_SHARE
from flatwater.fit.workload.settled import unsettled
from flatwater.runner.stack.database.size import estimate_bytes

Matrix = npt.NDArray[np.float64]

#: Significant digits of a figure: more than its interval justifies.
SIGNIFICANT = 5
#: Kinds of work that always occur in the same proportion cannot be told apart. A kind gets no cost of its own if the
#: other kinds explain more than this share of its amounts.
EXPLAINED_MAX = 0.98
#: Rows that TPC-C loads for each warehouse (clause 4.3.3.1). The items are common to all warehouses.
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
#: The kinds of changes in sysbench's scripts, in the order of `writes_of`.
OLTP_WRITES = ("index_update", "non_index_update", "delete_insert", "transaction")
READ_ONLY = ("read_only", "point_select")


@dataclass(frozen=True)
class Solved:
    """Costs of some kinds of work, and notes on those that could not be determined."""

    figures: dict[str, Figure]
    notes: list[str]


def derive(counted: Counted) -> MeasuredWorkload:
    """The figures for one transaction, from a run of a real server."""
    experiment = counted.experiment
    windows = [window for cell in counted.cells for window in cell.windows]
    cpu = _cpu(counted.cells)
    redo = _redo(counted.cells)
    indexes = indexes_of(counted.cells)
    notes = [*cpu.notes, *redo.notes]
    if not indexes:
        tpcc = isinstance(experiment.workload, Tpcc)
        instead = "the model takes those of another server" if tpcc else "rows a page are estimated from the columns"
        notes.append(f"sizes of indexes were not recorded: {instead}")
    if counted.others_cores > OTHERS_SHARE * max(counted.cores, 1):
        used = f"other programs used {counted.others_cores:.1f} of the machine's {counted.cores} cores meanwhile"
        notes.append(f"{used}: CPU times are longer by what they took of its caches")
    fell = unsettled(counted.cells)
    if fell is not None:
        notes.append(fell)
    transaction = "a New-Order with its companions" if isinstance(experiment.workload, Tpcc) else "a transaction"
    notes.append(f"a transaction is {transaction}; statements and page requests are means over all cells")
    return MeasuredWorkload(
        title=f"{experiment.workload.kind} on {counted.server} {counted.version}",
        workload="tpcc" if isinstance(experiment.workload, Tpcc) else "oltp",
        server=f"{counted.server} {counted.version}".strip(),
        generation=_generation(counted),
        date=counted.result.manifest.created_at[:10],
        processor=_processor(counted),
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
    """The TOML file of a measured workload, as those in `workloads/`."""
    return tomli_w.dumps(found.model_dump(exclude_none=True))


def _generation(counted: Counted) -> str:
    numbers = ".".join(counted.version.split("-")[0].split(".")[:2])
    return f"{counted.server}-{numbers}"


def _processor(counted: Counted) -> str:
    machine = counted.result.machine
    cores = machine.get("cores")
    return ", ".join(str(part) for part in (machine.get("cpu"), f"{cores} cores" if cores else "") if part)


def _reference(experiment: Experiment) -> dict[str, JsonValue]:
    workload = experiment.workload
    if isinstance(workload, Tpcc):
        return {"kind": "tpcc", "warehouses": workload.warehouses, "connections": workload.connections}
    assert isinstance(workload, Oltp)
    names = ("mode", "tables", "rows", "distribution", "connections")
    return {"kind": "oltp", **{name: getattr(workload, name) for name in names}}


def _mean(cells: Sequence[CountedCell], name: str) -> Figure:
    """A figure for one transaction: the mean over all cells, and the interval from their differences."""
    total = sum(getattr(window, name) for cell in cells for window in cell.windows)
    value = total / sum(window.transactions for cell in cells for window in cell.windows)
    samples = [_ratio(cell.windows, name) for cell in cells if cell.windows]
    if len(samples) < 2:
        samples = [getattr(window, name) / window.transactions for window in cells[0].windows if window.transactions]
    return Figure(value=_rounded(value), ci95=_interval(samples))


def _ratio(windows: Sequence[Window], name: str) -> float:
    return float(sum(getattr(w, name) for w in windows) / max(sum(w.transactions for w in windows), 1.0))


def _interval(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    width = float(student.ppf(0.975, len(values) - 1)) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return _rounded(width)


def _cpu(cells: Sequence[CountedCell]) -> Solved:
    """Least squares over all windows: CPU time by statements, pages read and pages written.

    The cost of a statement includes its page requests: in these workloads each statement has nearly as many of them.
    """
    windows = [window for cell in cells for window in cell.windows]
    return _cpu_costs(windows, [number for number, cell in enumerate(cells) for _ in cell.windows])


def _cpu_costs(counted: Sequence[Window], cells: Sequence[int]) -> Solved:
    """Server CPU of a statement, a page read and a page written, in microseconds. `cells`: the cell of each window.

    A server that reads more pages also writes more. Where the run cannot tell the two costs apart (one comes out below
    zero, or its interval is wider than itself), a page read and a page written get one cost: a cost of 0 for one of
    them would say that writing, or reading, takes no time.
    """
    names = ("statement", "page_read", "page_written")
    fields = ("statements", "pages_read", "pages_written")
    work = np.array([[getattr(one, field) for field in fields] for one in counted])
    cost = np.array([one.cpu_us for one in counted])
    found = _least_squares(work, cost, names, "server CPU", cells)
    pages = [found.figures.get(name) for name in names[1:]]
    if any(one is None or not _is_told(one) for one in pages):
        both = np.column_stack([work[:, 0], work[:, 1] + work[:, 2]])
        common = _least_squares(both, cost, ("statement", "page_read"), "server CPU", cells)
        page = common.figures.get("page_read")
        if page and page.value > 0 and work[:, 2].any():
            note = "server CPU of a page read and of a page written cannot be told apart: both have their common cost"
            found = Solved({**common.figures, "page_written": page}, [*common.notes, note])
    for name in names:
        found.figures.setdefault(name, Figure(value=0.0))
    return found


def _is_told(figure: Figure) -> bool:
    return figure.ci95 is None or figure.ci95 < figure.value


def _redo(cells: Sequence[CountedCell]) -> Solved:
    """Redo of a transaction; of each kind of change if the cells have scripts with different mixes."""
    if not isinstance(cells[0].experiment.workload, Oltp):
        found = _mean(cells, "redo_bytes")
        note = "the mix of transactions is fixed: redo is given for a New-Order with its companions, not for each kind"
        return Solved({"transaction": found}, [note])
    writing = [cell for cell in cells if _oltp(cell.experiment).mode not in READ_ONLY]
    rows = [(at, writes_of(cell.experiment), window) for at, cell in enumerate(writing) for window in cell.windows]
    if not rows:
        return Solved({}, ["no cell writes: redo was not measured"])
    work = np.array([[count * window.transactions for count in counts] for _, counts, window in rows])
    redo = np.array([window.redo_bytes for *_, window in rows])
    return _least_squares(work, redo, OLTP_WRITES, "redo", [at for at, *_ in rows])


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


def _least_squares(work: Matrix, cost: Matrix, names: Sequence[str], what: str, cells: Sequence[int]) -> Solved:
    """Costs >= 0 of kinds of work. Kinds in a fixed proportion to others are left out, with a note."""
    kept, notes = list(range(len(names))), []
    for at in reversed(range(1, len(names))):
        others = [other for other in kept if other != at]
        if not work[:, at].any():
            kept.remove(at)
            notes.append(f"{what}: no {names[at].replace('_', ' ')} was counted")
        elif len(work) <= len(kept) or _explained(work[:, at], work[:, others]) > EXPLAINED_MAX:
            kept.remove(at)
            kind = names[at].replace("_", " ")
            notes.append(f"{what} of a {kind} cannot be separated from that of other work, which includes it")
    # The error of a window grows with its work, so each window is weighted by the inverse.
    weight = 1.0 / np.sqrt(np.maximum(cost, 1.0))
    while True:
        weighted = work[:, kept] * weight[:, None]
        found, *_ = np.linalg.lstsq(weighted, cost * weight, rcond=None)
        if (found >= 0).all() or len(kept) == 1:
            break
        worst = kept[int(np.argmin(found))]
        kept.remove(worst)
        notes.append(f"{what} of a {names[worst].replace('_', ' ')} is below the noise, and is taken to be 0")
    width = _widths(weighted, cost * weight, found, np.array(cells))
    figures = {
        names[at]: Figure(value=_rounded(max(0.0, value)), ci95=half)
        for at, value, half in zip(kept, found.tolist(), width, strict=True)
    }
    return Solved(figures, notes)


def _explained(one: Matrix, others: Matrix) -> float:
    """The share of an amount, over all windows, that a linear combination of the others explains."""
    if not others.size:
        return 0.0
    found, *_ = np.linalg.lstsq(others, one, rcond=None)
    left = one - others @ found
    return 1.0 - float(left @ left) / float(one @ one)


def _widths(work: Matrix, cost: Matrix, found: npt.NDArray[Any], cells: npt.NDArray[np.int_]) -> list[float | None]:
    """Half-widths of the 95 % intervals of costs.

    Windows of one cell have the same mix of work, and err alike: the errors of cells are independent, those of windows
    are not (Liang and Zeger 1986; with the correction and the t distribution that few cells need). Fewer cells than
    that takes say nothing of it: their windows are taken as independent.
    """
    freedom = len(cost) - len(found)
    if freedom < 1:
        return [None] * len(found)
    left = cost - work @ found
    inverse = np.linalg.pinv(work.T @ work)
    groups = np.unique(cells)
    if len(groups) > len(found):
        sums = np.array([work[cells == one].T @ left[cells == one] for one in groups])
        few = len(groups) / (len(groups) - 1) * (len(cost) - 1) / freedom
        spread, freedom = inverse @ (sums.T @ sums) @ inverse * few, len(groups) - len(found)
    else:
        spread = inverse * float(left @ left) / freedom
    wide = float(student.ppf(0.975, freedom))
    return [_rounded(wide * math.sqrt(max(0.0, value))) for value in np.diag(spread).tolist()]


def indexes_of(cells: Sequence[CountedCell]) -> dict[str, IndexSize]:
    """Sizes of indexes with the rows that were loaded; empty if none were recorded.

    TPC-C's tables grow, and the model splits their pages itself: the sizes are those that were loaded. sysbench's
    tables keep their number of rows: the cell with the most page splits shows how full the pages are in the long run.
    """
    tpcc = isinstance(cells[0].experiment.workload, Tpcc)
    recorded = [sizes for cell in cells if (sizes := cell.loaded if tpcc else cell.indexes)]
    if not recorded:
        return {}
    return _index_sizes(
        max(recorded, key=lambda sizes: sum(one["pages"] for one in sizes.values())), cells[0].experiment
    )


def _index_sizes(recorded: Mapping[str, Mapping[str, int]], experiment: Experiment) -> dict[str, IndexSize]:
    """From a server's statistics: `leaf_pages` and `pages` of each index."""
    found = {}
    for name, size in recorded.items():
        rows = _loaded_rows(name.partition(".")[0], experiment)
        if rows and size["leaf_pages"]:
            found[name] = IndexSize(leaf_pages=size["leaf_pages"], pages=size["pages"], rows=rows)
    return found


def _loaded_rows(table: str, experiment: Experiment) -> int:
    """Rows that were loaded into a table. The server's own number of rows is an estimate from a few pages."""
    workload = experiment.workload
    if isinstance(workload, Tpcc):
        return _TPCC_ITEMS if table == "item" else _TPCC_ROWS.get(table, 0) * workload.warehouses
    return workload.rows if isinstance(workload, Oltp) and table.startswith("sbtest") else 0


def _cell(cell: CountedCell, indexes: Mapping[str, IndexSize]) -> MeasuredCell:
    pages = sum(index.pages for index in indexes.values()) or estimate_bytes(cell.experiment) // PAGE_BYTES
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
