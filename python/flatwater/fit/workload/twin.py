"""The modelled twin of a measured workload: the same transactions on the same pools, on storage that is always fast.

The compared figures depend on the workload and the pool alone: pages read and written, redo. Like the server, the twin
begins with an empty pool. It runs as many transactions before it is counted, and as many while it is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from flatwater._engine import Run
from flatwater.engine_json import to_json
from flatwater.errors import FlatwaterError
from flatwater.experiment import make_experiment
from flatwater.experiment.database.generation import generation_of
from flatwater.experiment.database.innodb_settings import defaults
from flatwater.experiment.database.measured import MeasuredCell, MeasuredWorkload, flavour_and_version
from flatwater.experiment.units import parse_size
from flatwater.plan.device import plain_memory
from flatwater.plan.innodb import ModelledDatabase, server_cpu, write_innodb, write_measured
from flatwater.results.schema import FieldValues
from flatwater.runner.stack.database.modelled.innodb import PAGE_BYTES

#: A fast device of memory.
_DEVICE = plain_memory(capacity_bytes=1 << 40, latency_us=20, bytes_per_s=1e10)
#: Length of an interval in virtual time, ms.
_INTERVAL_MS = 20
#: How long the model may take for one interval.
_PATIENCE_S = 300.0
#: The generation of the twin. With its flushing policies off, it writes pages when they leave the pool, as the measured
#: servers did. Newer servers were measured without neighbour flushing, and with a page cleaner, so that their master
#: thread wrote nothing.
_GENERATION = "percona-5.5"
#: An experiment needs a device. The plan replaces it by _DEVICE.
_SOME_DEVICE = "violin-memory-appliance"
#: MariaDB's default.
_LOG_BYTES = 96 << 20
#: MariaDB's default; and the pages of each 128 MiB of a pool that its control blocks use
#: (Innodb_buffer_pool_pages_total). MySQL 5.5 has its control blocks outside the pool, but uses as many pages of it for
#: locks and the adaptive hash index (90 to 180 pages).
_LRU_SCAN_DEPTH = 1536
_CONTROL_PAGES = 80
#: Servers without a page cleaner. The twin has their settings of neighbour flushing and IO capacity.
_WITHOUT_CLEANER = ("mysql-5.1", "percona-5.1", "mysql-5.5", "percona-5.5", "mariadb-5.5")
_LEAST_POOL_BYTES = 5 << 20
#: Settings that decide what is in the pool, for which the twin has the defaults of the measured server.
_OF_THE_POOL = ("innodb_adaptive_hash_index", "innodb_old_blocks_time")
#: The figures that are compared.
COMPARED = ("pages_read", "pages_written", "redo_bytes")


@dataclass(frozen=True)
class Twin:
    """The twin of a measured cell."""

    cell: MeasuredCell
    #: Each of COMPARED, per transaction.
    figures: dict[str, float]

    def error(self, name: str) -> float:
        """The share by which the twin's figure is larger than the measured one."""
        measured: float = getattr(self.cell, name)
        return self.figures[name] / measured - 1.0 if measured else 0.0


def twins(measured: MeasuredWorkload, seed: int = 1) -> Iterator[Twin]:
    """Runs the twin of every cell with the largest log: there, pages are written only when they leave the pool.

    With a smaller log the flushing policy decides what is written, which is not compared here.
    """
    largest = max((_log_bytes(measured, cell) for cell in measured.cells), default=0)
    for cell in measured.cells:
        if _log_bytes(measured, cell) == largest:
            yield run_twin(measured, cell, seed)


def run_twin(measured: MeasuredWorkload, cell: MeasuredCell, seed: int = 1) -> Twin:
    """Runs the twin of one cell. Errors: FlatwaterError with the engine's message."""
    run = Run.modelled_database(to_json(_plan(measured, cell, seed)))
    counted = "new_order" if measured.workload == "tpcc" else "transaction"
    done = 0
    totals = dict.fromkeys(COMPARED, 0.0)
    names = {"pages_read": "pages_read_per_s", "pages_written": "pages_written_per_s", "redo_bytes": "log_bytes_per_s"}
    transactions = 0
    while transactions < cell.transactions:
        interval = run.next_interval(_PATIENCE_S)
        if interval is None:
            raise FlatwaterError(f"the modelled twin ended early: {run.failure() or 'it gave no reason'}")
        finished = interval["totals"].get(counted, (0, 0, 0))[0]
        seconds = interval["end_s"] - interval["start_s"]
        if done >= cell.before:
            transactions += finished
            for name, series in names.items():
                totals[name] += interval["storage"][f"database.{series}"] * seconds
        done += finished
    run.stop()
    return Twin(cell, {name: total / transactions for name, total in totals.items()})


def _plan(measured: MeasuredWorkload, cell: MeasuredCell, seed: int) -> ModelledDatabase:
    """The plan of the twin: the measured transactions, on a server that writes pages only when they leave the pool."""
    swept = {name.removeprefix("workload."): value for name, value in cell.set.items() if name.startswith("workload.")}
    content = {
        "workload": {**measured.reference, **swept},
        "database": {
            "kind": "innodb-model",
            "generation": _GENERATION,
            "settings": {
                "innodb_buffer_pool_size": _used_bytes(measured, cell),
                # The size of each of two files.
                "innodb_log_file_size": _log_bytes(measured, cell) // 2 // 4096 * 4096,
                "innodb_flush_log_at_trx_commit": 2,
                "innodb_adaptive_flushing": False,
                "innodb_adaptive_flushing_method": "native",
                # As the measured server.
                "innodb_change_buffering": "none",
                "innodb_max_dirty_pages_pct": 99,
                **_of_its_generation(measured),
                **_other_writes(measured),
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


def _of_its_generation(measured: MeasuredWorkload) -> FieldValues:
    """The measured server's own defaults."""
    own = defaults(generation_of(*flavour_and_version(measured.generation)))
    return {name: measured.settings.get(name, own[name]) for name in _OF_THE_POOL}


def _other_writes(measured: MeasuredWorkload) -> FieldValues:
    """Settings for the other writes of the measured server: those of neighbours, and those of a master thread."""
    if measured.generation not in _WITHOUT_CLEANER:
        return {"innodb_flush_neighbor_pages": "none", "innodb_io_capacity": 10_000}
    names = ("innodb_flush_neighbor_pages", "innodb_io_capacity")
    return {name: measured.settings[name] for name in names if name in measured.settings}


def _used_bytes(measured: MeasuredWorkload, cell: MeasuredCell) -> int:
    """The part of the real pool that held pages: without control blocks, and without pages kept free by a cleaner."""
    has_cleaner = measured.generation not in _WITHOUT_CLEANER
    kept_free = int(measured.settings.get("innodb_lru_scan_depth", _LRU_SCAN_DEPTH)) if has_cleaner else 0
    pages = cell.pool_bytes // PAGE_BYTES * (8192 - _CONTROL_PAGES) // 8192 - kept_free
    return max(pages * PAGE_BYTES, _LEAST_POOL_BYTES)


def _log_bytes(measured: MeasuredWorkload, cell: MeasuredCell) -> int:
    asked = cell.set.get("database.settings.innodb_log_file_size", measured.settings.get("innodb_log_file_size"))
    return parse_size(asked) if asked is not None else _LOG_BYTES
