"""fileio on modelled storage: what its models take, and how they differ from the devices that they are of."""

from __future__ import annotations

import psutil

from flatwater.errors import UserError
from flatwater.experiment import Experiment, print_size
from flatwater.plan.fileio import fileio_use
from flatwater.runner.cached_model import cache_memory_bytes, cached_notes


def check_memory(cell: Experiment) -> None:
    """Refuses a device whose model does not fit this machine: Linux would kill the run, or its neighbours.

    Errors: UserError.
    """
    needed, free = model_memory_bytes(cell), psutil.virtual_memory().available
    if needed > free:
        what = f"the model of {cell.modelled.device} takes {print_size(needed)} of memory, {print_size(free)} are free"
        raise UserError(what, where="storage.capacity_scale", hint="a smaller capacity_scale, or fewer --jobs")


def device_notes(cell: Experiment) -> list[str]:
    """What the models of a cell's devices do differently from the devices, in sentences."""
    notes = cell.modelled.modelled_device.notes(fileio_use(cell))
    return notes + (cached_notes(cell.flash_cache) if cell.flash_cache is not None else [])


def model_memory_bytes(cell: Experiment) -> int:
    """Memory that the models of a cell's devices need."""
    needed = cell.modelled.modelled_device.memory_bytes(fileio_use(cell))
    return needed + (cache_memory_bytes(cell.flash_cache) if cell.flash_cache is not None else 0)
