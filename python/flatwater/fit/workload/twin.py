"""The modelled twin of a measured workload: the same transactions on the same pools, on storage that is never slow.

What is compared depends on the workload and the pool alone: pages read and written, redo. The twin begins with an empty
pool as the server did, lets as many transactions pass, and is counted over as many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from flatwater._engine import Run
from flatwater.engine_json import to_json
from flatwater.errors import FlatwaterError
from flatwater.experiment import make_experiment
from flatwater.experiment.database.measured import MeasuredCell, MeasuredWorkload
from flatwater.experiment.tables import Tables
from flatwater.experiment.units import parse_size
from flatwater.plan.device import plain_memory
from flatwater.plan.innodb import ModelledDatabase, server_cpu, write_innodb, write_measured
from flatwater.runner.stack.database.modelled.innodb import PAGE_BYTES

#: A device that answers at once, of memory.
_DEVICE = plain_memory(capacity_bytes=1 << 40, latency_us=20, bytes_per_s=1e10)
#: Virtual time between looks at how far it is, ms.
_INTERVAL_MS = 20
#: No interval of the model takes this long.
_PATIENCE_S = 300.0
#: Whose habits the twin has: with its policies off, pages are written when they leave the pool, as was measured. Of
#: newer servers it was measured without neighbours, and with a page cleaner, which leaves the master thread nothing.
_GENERATION = "percona-5.5"
#: Its figures are replaced by _DEVICE.
_SOME_DEVICE = "violin-memory-appliance"
#: MariaDB's default.
_LOG_BYTES = 96 << 20
#: MariaDB's default; and what it takes of each 128 MiB of a pool for control blocks (Innodb_buffer_pool_pages_total).
#: MySQL 5.5's are beside the pool, but it takes as much of it for locks and its hash index (90 to 180 pages).
_LRU_SCAN_DEPTH = 1536
_CONTROL_PAGES = 80
#: Servers without a page cleaner, with the defaults of _GENERATION for what it wrote besides.
_WITHOUT_CLEANER = ("mysql-5.1", "mysql-5.5", "percona-5.5", "mariadb-5.5")
_LEAST_POOL_BYTES = 5 << 20
#: What is compared.
COMPARED = ("pages_read", "pages_written", "redo_bytes")


@dataclass(frozen=True)
class Twin:
    """The twin of a measured cell."""

    cell: MeasuredCell
    #: Each of COMPARED, for a transaction.
    figures: dict[str, float]

    def error(self, name: str) -> float:
        """By what share of the measured figure the twin's is larger."""
        measured: float = getattr(self.cell, name)
        return self.figures[name] / measured - 1.0 if measured else 0.0


def twins(measured: MeasuredWorkload, seed: int = 1) -> Iterator[Twin]:
    """Runs the twin of every cell in which pages are written only when they leave the pool (the largest log).

    What a small log makes a server write is its policy's doing, and not compared here.
    """
    largest = max((_log_bytes(measured, cell) for cell in measured.cells), default=0)
    for cell in measured.cells:
        if _log_bytes(measured, cell) == largest:
            yield run_twin(measured, cell, seed)


def run_twin(measured: MeasuredWorkload, cell: MeasuredCell, seed: int = 1) -> Twin:
    """Runs the twin of one cell. Errors: FlatwaterError in the engine's words."""
    run = Run.modelled_database(to_json(_plan(measured, cell, seed)))
    counted = "new_order" if measured.workload == "tpcc" else "transaction"
    done = 0
    totals = dict.fromkeys(COMPARED, 0.0)
    names = {"pages_read": "pages_read_per_s", "pages_written": "pages_written_per_s", "redo_bytes": "log_bytes_per_s"}
    transactions = 0
    while transactions < cell.transactions:
        interval = run.next_interval(_PATIENCE_S)
        if interval is None:
            raise FlatwaterError(f"the modelled twin ended early: {run.failure() or 'for no reason told'}")
        own = interval["totals"].get(counted, (0, 0, 0))[0]
        seconds = interval["end_s"] - interval["start_s"]
        if done >= cell.before:
            transactions += own
            for name, series in names.items():
                totals[name] += interval["storage"][f"database.{series}"] * seconds
        done += own
    run.stop()
    return Twin(cell, {name: total / transactions for name, total in totals.items()})


def _plan(measured: MeasuredWorkload, cell: MeasuredCell, seed: int) -> ModelledDatabase:
    """What the engine runs: what was measured, on servers whose pages are written only when they leave the pool."""
    swept = {name.removeprefix("workload."): value for name, value in cell.set.items() if name.startswith("workload.")}
    content = {
        "workload": {**measured.reference, **swept},
        "database": {
            "kind": "innodb-model",
            "generation": _GENERATION,
            "settings": {
                "innodb_buffer_pool_size": _used_bytes(measured, cell),
                # Of two files, each.
                "innodb_log_file_size": _log_bytes(measured, cell) // 2 // 4096 * 4096,
                "innodb_flush_log_at_trx_commit": 2,
                "innodb_adaptive_flushing": False,
                "innodb_adaptive_flushing_method": "native",
                # As the measured server.
                "innodb_change_buffering": "none",
                "innodb_max_dirty_pages_pct": 99,
                **_habits(measured),
            },
            "warm": False,
        },
        "storage": {"kind": "memory", "device": _SOME_DEVICE},
    }
    experiment = make_experiment(content)
    costs = measured.cpu_us
    return replace(
        write_innodb(experiment, seed),
        measured=write_measured(measured, measured.generation),
        cpu=server_cpu(
            statement_us=costs.statement.value,
            page_read_us=costs.page_read.value,
            page_written_us=costs.page_written.value,
        ),
        device=_DEVICE,
        interval_ms=_INTERVAL_MS,
    )


def _habits(measured: MeasuredWorkload) -> Tables:
    """What the measured server wrote besides: areas of pages, and a master thread's share of its capacity."""
    if measured.generation not in _WITHOUT_CLEANER:
        return {"innodb_flush_neighbor_pages": "none", "innodb_io_capacity": 10_000}
    names = ("innodb_flush_neighbor_pages", "innodb_io_capacity")
    return {name: measured.settings[name] for name in names if name in measured.settings}


def _used_bytes(measured: MeasuredWorkload, cell: MeasuredCell) -> int:
    """What of the real pool held pages: less its control blocks, and what a page cleaner kept free."""
    has_cleaner = measured.generation not in _WITHOUT_CLEANER
    kept_free = int(measured.settings.get("innodb_lru_scan_depth", _LRU_SCAN_DEPTH)) if has_cleaner else 0
    pages = cell.pool_bytes // PAGE_BYTES * (8192 - _CONTROL_PAGES) // 8192 - kept_free
    return max(pages * PAGE_BYTES, _LEAST_POOL_BYTES)


def _log_bytes(measured: MeasuredWorkload, cell: MeasuredCell) -> int:
    asked = cell.set.get("database.settings.innodb_log_file_size", measured.settings.get("innodb_log_file_size"))
    return parse_size(asked) if asked is not None else _LOG_BYTES
