"""The counters that a run of a real server recorded, in windows of a few seconds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flatwater.errors import UserError
from flatwater.experiment import Experiment, InvalidExperimentError, OwnStatements, Tpcc, iter_cells, load
from flatwater.experiment.twin import FIELD as TWIN
from flatwater.experiment.units import parse_size
from flatwater.fit.workload.others import other_cores
from flatwater.results import Cell, Result, open_result
from flatwater.results.phases import Values, lengths_s, measured_samples
from flatwater.results.schema import FieldValues
from flatwater.results.started import resume_command

#: Length of a window: some hundred transactions, and several rounds of a page cleaner.
WINDOW_S = 5.0
#: A run needs at least this many seconds and transactions.
LEAST_S = 20.0
LEAST_TRANSACTIONS = 500
#: The series that must have been recorded: field of `Window` -> (layer, metric).
_COUNTERS = {
    "statements": ("workload", "queries_per_s"),
    "page_requests": ("database", "read_requests_per_s"),
    "pages_read": ("database", "pages_read_per_s"),
    "pages_written": ("database", "pages_flushed_per_s"),
    "redo_bytes": ("database", "log_bytes_per_s"),
}
#: CPU time of the server, as shares of one core, %.
_CPU = (("database", "server_cpu_user_pct"), ("database", "server_cpu_system_pct"))
PAGE_BYTES = 16384


@dataclass(frozen=True)
class Window:
    """Totals over a few seconds."""

    seconds: float
    transactions: float
    statements: float
    page_requests: float
    pages_read: float
    pages_written: float
    redo_bytes: float
    cpu_us: float


@dataclass(frozen=True)
class CountedCell:
    """One cell of the run."""

    experiment: Experiment
    set: FieldValues
    pool_bytes: int
    #: Pages of each index in the server's statistics, when it was loaded and at the end of the cell; None if they were
    #: not recorded.
    loaded: dict[str, dict[str, int]] | None
    indexes: dict[str, dict[str, int]] | None
    #: Transactions before the measured phase.
    before: float
    windows: list[Window]
    #: Number of the cell in the run.
    index: int = 0


@dataclass(frozen=True)
class Counted:
    """The counters of a run."""

    result: Result
    experiment: Experiment
    server: str
    version: str
    cells: list[CountedCell]
    #: Cores that other programs used meanwhile, of those of the machine; 0 where neither is known.
    others_cores: float = 0.0
    cores: int = 0


def find_run(run: str) -> Path:
    """The folder of a run: the path itself, or the newest folder under `results/` whose name begins like that."""
    path = Path(run)
    if path.exists() or "/" in run:
        return path
    named = [folder for folder in Path("results").glob(f"{run}*") if (folder / "flatwater.json").is_file()]
    return max(named, key=lambda folder: (folder / "flatwater.json").stat().st_mtime, default=path)


def count_run(run: str) -> Counted:
    """The counters of the complete cells of a run.

    Errors: UserError, one line, if it is no result, was modelled, has no counters of a server, or is too short.
    """
    path = find_run(run)
    result = open_result(path)
    if result.manifest.source != "run":
        hint = "use a run of flatwater's own: tpcc or oltp on a server"
        raise UserError("it is imported: no counters of a server were recorded", where=str(path), hint=hint)
    try:
        experiment = load(path / "experiment.toml")
        planned = {cell.index: cell for cell in iter_cells(experiment)}
    except InvalidExperimentError as error:
        raise UserError(f"its experiment cannot be read: {error.what}", where=str(path)) from None
    cells, server, version = [], "", ""
    for cell in result.cells:
        summary = cell.summary
        if summary is None or summary.status != "complete" or cell.index not in planned:
            continue
        plan = planned[cell.index]
        if plan.set.get(TWIN):
            continue  # a modelled cell
        check_real(plan.experiment, str(path))
        if summary.servers and len(summary.servers) > 1:
            hint = "database.instances = 1"
            raise UserError(f"cell {cell.index} ran on {len(summary.servers)} servers", where=str(path), hint=hint)
        cells.append(_count_cell(cell, plan.experiment, plan.set))
        if summary.servers:
            server, version = summary.servers[0].flavour, summary.servers[0].version
    if not cells:
        hint = f"to finish it: {resume_command(path)}"
        raise UserError("has no complete cell", where=str(path), hint=hint)
    seconds = sum(window.seconds for cell in cells for window in cell.windows)
    transactions = sum(window.transactions for cell in cells for window in cell.windows)
    require_enough(seconds, transactions, str(path))
    cores = int(result.machine.get("cores") or 0)
    used = sum(window.cpu_us for cell in cells for window in cell.windows) / seconds / 1e6
    counted = {cell.index for cell in cells}
    others = other_cores([cell for cell in result.cells if cell.index in counted], used, cores)
    return Counted(result, experiment, server, version, cells, others, cores)


def require_enough(seconds: float, transactions: float, where: str) -> None:
    """Raises UserError for a measurement that is too short.

    The seconds are rounded: a resumed run of 20 s measures 19.98 s.
    """
    if round(seconds) < LEAST_S or transactions < LEAST_TRANSACTIONS:
        what = f"is too short: {seconds:.0f} s and {transactions:.0f} transactions were measured"
        hint = f"increase workload.duration_s: {LEAST_S:g} s and {LEAST_TRANSACTIONS} transactions are needed"
        raise UserError(what, where=where, hint=hint)


def check_real(cell: Experiment, where: str) -> None:
    """Raises UserError unless a cell is of transactions on a real server."""
    if cell.workload.kind not in ("tpcc", "oltp"):
        hint = "use a run of tpcc or oltp on a server"
        own = isinstance(cell.workload, OwnStatements)
        why = "models have the tables of tpcc and oltp only" if own else "it has no transactions"
        raise UserError(f"its workload is {cell.workload.kind}: {why}", where=where, hint=hint)
    if cell.database.REALITY != "real":
        hint = 'database.kind = "server"'
        raise UserError("its server is modelled: it has no measured figures", where=where, hint=hint)
    if isinstance(cell.workload, Tpcc) and cell.workload.variant != "tpcc-mysql":
        what = f'its transactions are those of "{cell.workload.variant}": figures are measured of tpcc-mysql\'s only'
        raise UserError(what, where=where, hint='workload.variant = "tpcc-mysql"')
    if cell.transactions.reconnect_every:
        what = "its clients reconnect: the CPU time of logins would be counted as that of their transactions"
        raise UserError(what, where=where, hint="workload.reconnect_every = 0")


def _count_cell(cell: Cell, experiment: Experiment, swept: FieldValues) -> CountedCell:
    where = str(cell.result.path)
    start_s, _ = cell.measured_span()
    counted = "new_order_ops_per_s" if isinstance(experiment.workload, Tpcc) else "ops_per_s"
    names = {"transactions": ("workload", counted), **_COUNTERS, "user": _CPU[0], "system": _CPU[1]}
    series = {name: cell.series(*source) for name, source in names.items()}
    for name, recorded in series.items():
        if not len(recorded):
            hint = "flatwater records them of a server that it starts itself"
            what = f"cell {cell.index} has no {'.'.join(names[name])}: the server's counters were not recorded"
            raise UserError(what, where=where, hint=hint)
    everything = series["transactions"]
    measured = {name: measured_samples(recorded, cell.phases) for name, recorded in series.items()}
    time_s = measured["transactions"].time_s
    length_s = lengths_s(measured["transactions"], cell.phases)
    # A server that answered late leaves gaps in its series. They are filled by interpolation.
    rates = {
        name: np.interp(time_s, samples.time_s, samples.value) for name, samples in measured.items() if len(samples)
    }
    windows = []
    numbers = window_numbers(length_s)
    for number in np.unique(numbers):
        inside = numbers == number
        seconds = float(length_s[inside].sum())
        if seconds < 0.9 * WINDOW_S or len(rates) < len(names):
            continue
        total = {name: float((rate[inside] * length_s[inside]).sum()) for name, rate in rates.items()}
        cpu_us = (total.pop("user") + total.pop("system")) * 1e4
        windows.append(Window(seconds=seconds, cpu_us=cpu_us, **total))
    early = everything.time_s <= start_s + 1e-3
    before = float((everything.value * np.diff(everything.time_s, prepend=0.0))[early].sum())
    folder = cell.result.path / "servers" / f"{cell.index:04}"
    pool = _pool_bytes(folder, experiment, where)
    loaded, indexes = (_indexes(folder / name) for name in ("tables-loaded.json", "tables.json"))
    return CountedCell(experiment, swept, pool, loaded, indexes, before, windows, cell.index)


def window_numbers(own_s: Values) -> Values:
    """The window of each reading, of which some come a few milliseconds late: the one in which its middle lies."""
    return np.floor((np.cumsum(own_s) - own_s / 2) / WINDOW_S)


def _pool_bytes(folder: Path, experiment: Experiment, where: str) -> int:
    try:
        return int(json.loads((folder / "variables.json").read_text())["innodb_buffer_pool_size"])
    except (OSError, ValueError, KeyError, TypeError):
        asked = experiment.server.settings.get("innodb_buffer_pool_size")
        if asked is None:
            hint = "set database.settings.innodb_buffer_pool_size"
            raise UserError("the size of its buffer pool was not recorded", where=where, hint=hint) from None
        return parse_size(asked)


def _indexes(path: Path) -> dict[str, dict[str, int]] | None:
    try:
        found = json.loads(path.read_text())
        names = ("leaf_pages", "pages", "rows")
        return {f"{one['table']}.{one['index']}": {name: int(one[name]) for name in names} for one in found}
    except (OSError, ValueError, KeyError, TypeError):
        return None
