"""A modelled InnoDB in virtual time. The engine computes it together with its workload and its storage."""

from __future__ import annotations

from dataclasses import asdict

from flatwater.experiment.device.load import load_device
from flatwater.experiment.programs import require_allowed
from flatwater.plan.device import cache_memory_bytes
from flatwater.plan.innodb import ModelledDatabase, innodb_of, other_use, placed_device, placed_use, storage_use
from flatwater.runner.stack.database.modelled.policy import Guard
from flatwater.runner.stack.database.size import estimate_bytes
from flatwater.runner.stack.layers.database import Database
from flatwater.runner.stack.layers.layer import Model

#: Bytes of a page of InnoDB.
PAGE_BYTES = 16384
#: Bytes of the model for each page of the data: its frame in the pool and the time of its first use
#: (crates/model/src/database/pool/), its changes in the change buffer, and their leaf there.
ENTRY_BYTES = 65


class ModelledInnodb(Database):
    """One or several modelled servers, on any model of a storage."""

    def __init__(self, below: Model) -> None:
        self._below = below

    @property
    def notes(self) -> list[str]:
        """The differences between the models of the devices and the devices."""
        return self._below.notes(storage_use(self._cell))

    @property
    def ignored(self) -> list[str]:
        """Settings that have no effect in the model."""
        return list(innodb_of(self._cell).ignored)

    @property
    def memory_bytes(self) -> int:
        """Memory of the models of the servers and of their devices."""
        cell = self._cell
        needed = estimate_bytes(cell) // PAGE_BYTES * ENTRY_BYTES + self._below.memory_bytes(storage_use(cell))
        for name, holding in innodb_of(cell).other_devices.items():
            needed += load_device(name, {}).memory_bytes(other_use(cell, holding))
        for name, holding in innodb_of(cell).placed_storages.items():
            needed += placed_device(cell, name).memory_bytes(placed_use(cell, name, holding))
            cache = cell.cache_before(name)
            needed += cache_memory_bytes(cache) if cache is not None else 0
        return needed

    def policies(self, plan: ModelledDatabase) -> list[Guard]:
        """The user's policy, for each server with the memory of that server; none if the policy is a built-in one."""
        policy = innodb_of(self._cell).own_policy
        if policy is None:
            return []
        require_allowed(self._cell)
        settings = asdict(plan.settings)
        if plan.servers > 1:
            # The engine divides the memory in the same way.
            settings["innodb_buffer_pool_size"] = settings["innodb_buffer_pool_size"] // plan.servers // 2**20 * 2**20
        return [Guard(policy, settings) for _ in range(plan.servers)]
