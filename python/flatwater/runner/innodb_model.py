"""A modelled InnoDB on modelled storage, or on a modelled cache in front of it, in virtual time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import psutil

from flatwater._engine import EngineError, Run
from flatwater.errors import UserError
from flatwater.experiment import Experiment, print_size
from flatwater.experiment.database import InnodbModel
from flatwater.experiment.database.placement import call
from flatwater.experiment.device import Use
from flatwater.experiment.device.load import load_device
from flatwater.runner.cached_model import cache_memory_bytes, cached_notes
from flatwater.runner.dataset import estimate_bytes, workload_of
from flatwater.runner.model import ModelStack, device_spec
from flatwater.runner.policy import Guard

#: What goes through the kernel's page cache comes in its pages, and data pages are larger. A log past it has sectors.
ALIGN_BYTES = 4096
DIRECT_ALIGN_BYTES = 512
PAGE_BYTES = 16384
#: Bytes of the model for a page of the data: its frame in the pool and when it was first used
#: (crates/model/src/database/pool.rs), what waits for it in the change buffer, and in which leaf.
ENTRY_BYTES = 65


class InnodbModelStack(ModelStack):
    """Transactions on a modelled InnoDB."""

    def check_sweep(self) -> None:
        # Devices are made at once when they are fresh, and a pool when nothing was before.
        self.start(model_spec(self._cell, 0, fresh=True))

    def workload_spec(self, seed: int) -> dict[str, Any]:
        return model_spec(self._cell, seed)

    def precondition_spec(self, seed: int) -> dict[str, Any] | None:
        return None

    def start(self, spec: dict[str, Any], after: Run | None = None) -> Run:
        _check_memory(self._cell)
        told = engine_spec(spec)
        policies = _policies(spec) if spec["policy"] is not None else []
        try:
            return Run.modelled_database(json.dumps(told), policies)
        except EngineError as error:
            where = "database" if str(error).startswith(("database.", "workload.")) else "storage.device"
            raise UserError(str(error), where=where) from None

    def warnings(self) -> list[str]:
        notes = self._cell.modelled.modelled_device.notes(_use(self._cell))
        if self._cell.flash_cache is not None:
            notes += cached_notes(self._cell.flash_cache)
        told = [f"the model is not quite its device: {note}" for note in notes]
        ignored = _model(self._cell).ignored
        if ignored:
            told.append(f"settings that change nothing in the model: {', '.join(ignored)}")
        return told


def _policies(spec: dict[str, Any]) -> list[Guard]:
    """The user's policy, of each server with a memory of its own."""
    settings = dict(spec["settings"])
    if spec["servers"] > 1:
        # As the engine shares it out.
        settings["innodb_buffer_pool_size"] = settings["innodb_buffer_pool_size"] // spec["servers"] // 2**20 * 2**20
    return [Guard(spec["policy"], settings) for _ in range(spec["servers"])]


def _model(cell: Experiment) -> InnodbModel:
    if not isinstance(cell.database, InnodbModel):
        raise TypeError(f"the database is {cell.database.kind}, not a modelled InnoDB")
    return cell.database


def _use(cell: Experiment) -> Use:
    return cell.modelled.use(asynchronous=True, align_bytes=_align_bytes(cell))


def _use_of(cell: Experiment, holds: list[Any]) -> Use:
    """How a device beside the storage is used. Logs go over it in order; tables have been on it for long."""
    has_tables = any(isinstance(part, dict) for part in holds)
    return Use(
        asynchronous=True,
        align_bytes=_align_bytes(cell, "log" in holds),
        initial="preconditioned" if has_tables else "fresh",
        scale=cell.modelled.capacity_scale,
    )


def _align_bytes(cell: Experiment, has_log: bool | None = None) -> int:
    database = _model(cell)
    if has_log is None:
        has_log = database.log_device is None
    return DIRECT_ALIGN_BYTES if has_log and database.log_is_direct else ALIGN_BYTES


def model_spec(cell: Experiment, seed: int, *, fresh: bool = False) -> dict[str, Any]:
    """What `Run.modelled_database` takes (`fresh`: on devices that were never written, with an empty pool)."""
    database = _model(cell)
    others = [
        {"name": call(holds), "device": load_device(name, {}).spec(_use_of(cell, holds)), "holds": holds}
        for name, holds in database.other_devices.items()
    ]
    return {
        "workload": workload_of(cell),
        "servers": database.servers,
        "connections": cell.transactions.connections,
        "generation": database.generation,
        "settings": database.resolved,
        "flushing": database.flushing_name,
        "policy": None if database.flushing_name is not None else database.flushing,
        "cores": database.hardware.at_once,
        "cpu": database.cpu.spec(database.measured(cell.workload.kind).cpu_us, database.hardware),
        "measured": database.measured_spec(cell.workload.kind),
        "warm": database.warm and not fresh,
        "page_cache_bytes": database.page_cache_bytes,
        "device": device_spec(cell, asynchronous=True, align_bytes=_align_bytes(cell), fresh=fresh),
        "others": others,
        "interval_ms": round(cell.record.interval_s * 1000),
        "seed": seed,
        "continue_on_error": False,
    }


def engine_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What of a `model_spec` the engine reads.

    A policy in Python is handed over by itself, and a modelled transaction fails with its device or not at all.
    """
    return {name: value for name, value in spec.items() if name not in ("continue_on_error", "policy")}


def _check_memory(cell: Experiment) -> None:
    """Refuses a model that does not fit this machine: Linux would kill the run, or its neighbours."""
    needed, free = memory_bytes(cell), psutil.virtual_memory().available
    if needed > free:
        what = f"the model takes {print_size(needed)} of memory, {print_size(free)} are free"
        raise UserError(what, where="database", hint="less data, a smaller pool, or fewer --jobs")


def memory_bytes(cell: Experiment) -> int:
    """Memory that the models of a cell's database, cache and devices need."""
    needed = estimate_bytes(cell) // PAGE_BYTES * ENTRY_BYTES + cell.modelled.modelled_device.memory_bytes(_use(cell))
    for name, holds in _model(cell).other_devices.items():
        needed += load_device(name, {}).memory_bytes(_use_of(cell, holds))
    return needed + (cache_memory_bytes(cell.flash_cache) if cell.flash_cache is not None else 0)
