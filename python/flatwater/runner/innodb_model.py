"""A modelled InnoDB: what its models take, how they differ from the devices that they are of, and the user's policy."""

from __future__ import annotations

from dataclasses import asdict

import psutil

from flatwater.errors import UserError
from flatwater.experiment import Experiment, print_size
from flatwater.experiment.device.load import load_device
from flatwater.plan.innodb import ModelledDatabase, innodb_of, other_use, storage_use
from flatwater.runner.cached_model import cache_memory_bytes, cached_notes
from flatwater.runner.dataset import estimate_bytes
from flatwater.runner.policy import Guard

#: Bytes of a page of InnoDB.
PAGE_BYTES = 16384
#: Bytes of the model for a page of the data: its frame in the pool and when it was first used
#: (crates/model/src/database/pool/), what waits for it in the change buffer, and in which leaf.
ENTRY_BYTES = 65


def model_notes(cell: Experiment) -> list[str]:
    """What the models of a cell's devices do differently from the devices, in sentences."""
    notes = cell.modelled.modelled_device.notes(storage_use(cell))
    return notes + (cached_notes(cell.flash_cache) if cell.flash_cache is not None else [])


def policies_of(cell: Experiment, plan: ModelledDatabase) -> list[Guard]:
    """The user's policy, of each server with a memory of its own; none where the policy is a built-in one."""
    policy = innodb_of(cell).own_policy
    if policy is None:
        return []
    settings = asdict(plan.settings)
    if plan.servers > 1:
        # As the engine shares it out.
        settings["innodb_buffer_pool_size"] = settings["innodb_buffer_pool_size"] // plan.servers // 2**20 * 2**20
    return [Guard(policy, settings) for _ in range(plan.servers)]


def check_memory(cell: Experiment) -> None:
    """Refuses a model that does not fit this machine: Linux would kill the run, or its neighbours.

    Errors: UserError.
    """
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
