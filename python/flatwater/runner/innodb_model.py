"""A modelled InnoDB on modelled storage, or on a modelled cache in front of it, in virtual time."""

from __future__ import annotations

from dataclasses import asdict

import psutil

from flatwater._engine import EngineError, Run
from flatwater.engine_json import to_json
from flatwater.errors import UserError
from flatwater.experiment import Experiment, print_size
from flatwater.experiment.device.load import load_device
from flatwater.plan.innodb import ModelledDatabase, innodb_of, other_use, storage_use, write_innodb
from flatwater.plan.run import Plan
from flatwater.runner.cached_model import cache_memory_bytes, cached_notes
from flatwater.runner.dataset import estimate_bytes
from flatwater.runner.model import ModelStack
from flatwater.runner.policy import Guard

#: Bytes of a page of InnoDB.
PAGE_BYTES = 16384
#: Bytes of the model for a page of the data: its frame in the pool and when it was first used
#: (crates/model/src/database/pool.rs), what waits for it in the change buffer, and in which leaf.
ENTRY_BYTES = 65


class InnodbModelStack(ModelStack):
    """Transactions on a modelled InnoDB."""

    def check_sweep(self) -> None:
        # Devices are made at once when they are fresh, and a pool when nothing was before.
        self.start(write_innodb(self._cell, 0, fresh=True))

    def workload_spec(self, seed: int) -> Plan:
        return write_innodb(self._cell, seed)

    def precondition_spec(self, seed: int) -> Plan | None:
        return None

    def start(self, plan: Plan, after: Run | None = None) -> Run:
        assert isinstance(plan, ModelledDatabase)
        _check_memory(self._cell)
        policies = _policies(self._cell, plan)
        try:
            return Run.modelled_database(to_json(plan), policies)
        except EngineError as error:
            where = "database" if str(error).startswith(("database.", "workload.")) else "storage.device"
            raise UserError(str(error), where=where) from None

    def warnings(self) -> list[str]:
        notes = self._cell.modelled.modelled_device.notes(storage_use(self._cell))
        if self._cell.flash_cache is not None:
            notes += cached_notes(self._cell.flash_cache)
        told = [f"the model is not quite its device: {note}" for note in notes]
        ignored = innodb_of(self._cell).ignored
        if ignored:
            told.append(f"settings that change nothing in the model: {', '.join(ignored)}")
        return told


def _policies(cell: Experiment, plan: ModelledDatabase) -> list[Guard]:
    """The user's policy, of each server with a memory of its own; none where the policy is a built-in one."""
    policy = innodb_of(cell).own_policy
    if policy is None:
        return []
    settings = asdict(plan.settings)
    if plan.servers > 1:
        # As the engine shares it out.
        settings["innodb_buffer_pool_size"] = settings["innodb_buffer_pool_size"] // plan.servers // 2**20 * 2**20
    return [Guard(policy, settings) for _ in range(plan.servers)]


def _check_memory(cell: Experiment) -> None:
    """Refuses a model that does not fit this machine: Linux would kill the run, or its neighbours."""
    needed, free = memory_bytes(cell), psutil.virtual_memory().available
    if needed > free:
        what = f"the model takes {print_size(needed)} of memory, {print_size(free)} are free"
        raise UserError(what, where="database", hint="less data, a smaller pool, or fewer --jobs")


def memory_bytes(cell: Experiment) -> int:
    """Memory that the models of a cell's database, cache and devices need."""
    needed = estimate_bytes(cell) // PAGE_BYTES * ENTRY_BYTES
    needed += cell.modelled.modelled_device.memory_bytes(storage_use(cell))
    for name, holding in innodb_of(cell).other_devices.items():
        needed += load_device(name, {}).memory_bytes(other_use(cell, holding))
    return needed + (cache_memory_bytes(cell.flash_cache) if cell.flash_cache is not None else 0)
