"""A workload on modelled storage: nothing of this machine is used but its processors."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from flatwater._engine import EngineError, Run
from flatwater.errors import UserError
from flatwater.experiment import Experiment, PlannedCell, print_size
from flatwater.experiment.device import Use
from flatwater.experiment.device.text import storage_text
from flatwater.probe import Probe
from flatwater.runner.cached_model import cache_memory_bytes, cached_notes, cached_spec
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter
from flatwater.runner.resuming import Left
from flatwater.runner.spec import derived_seed, fileio_spec, precondition_changes
from flatwater.runner.stack import Stack


class ModelStack(Stack):
    """fileio on a device of `devices/`, or on a cache on two of them, in virtual time."""

    def __init__(self, experiment: Experiment, plan: PlannedCell) -> None:
        self._cell = plan.experiment
        self._spec: dict[str, Any] = {}

    def check_sweep(self) -> None:
        # Every cell was checked against its device when the experiment was read; here is what only the engine knows.
        # A fresh device is made at once, however large.
        self.start(modelled_spec(self._cell, 0, fresh=True))

    @property
    def place(self) -> Path | None:
        return None

    @property
    def device(self) -> str:
        return storage_text(self._cell.storage) or ""

    @property
    def cache(self) -> str:
        cache = self._cell.flash_cache
        return "" if cache is None else f"{cache.text}, on {storage_text(cache.storage)}"

    def turn_to(self, plan: PlannedCell) -> None:
        self._cell = plan.experiment

    @property
    def recomputes(self) -> bool:
        return True

    def take_up(self, left: Left) -> str | None:
        return "a modelled cell is computed anew, and gives the same"

    def prepare(self, reporter: Reporter, interrupt: Interrupt) -> None:
        """A device is made when its workload starts."""

    def probes(self) -> list[Probe]:
        return []

    def workload_spec(self, seed: int) -> dict[str, Any]:
        return modelled_spec(self._cell, seed)

    def precondition_spec(self, seed: int) -> dict[str, Any] | None:
        if self._cell.fileio.precondition_passes <= 0:
            return None
        spec = modelled_spec(self._cell, derived_seed(seed, "precondition"))
        return spec | precondition_changes(self._cell.fileio, spec["workload"])

    def start(self, spec: dict[str, Any], after: Run | None = None) -> Run:
        if after is None:
            _check_memory(self._cell)
        try:
            return Run.modelled(json.dumps(spec), after)
        except EngineError as error:
            # What cannot be of a device is the experiment's fault, not a run's that failed.
            where = "storage.device" if self._cell.flash_cache is None else "cache"
            raise UserError(str(error), where=where) from None

    def warnings(self) -> list[str]:
        notes = self._cell.modelled.modelled_device.notes(_use(self._cell))
        if self._cell.flash_cache is not None:
            notes += cached_notes(self._cell.flash_cache)
        return [f"the model is not quite its device: {note}" for note in notes]

    def remove(self) -> None:
        """There is nothing."""

    def release(self) -> None:
        """There is nothing to let go."""


def _check_memory(cell: Experiment) -> None:
    """Refuses a device whose model does not fit this machine: Linux would kill the run, or its neighbours."""
    needed, free = model_memory_bytes(cell), psutil.virtual_memory().available
    if needed > free:
        what = f"the model of {cell.modelled.device} takes {print_size(needed)} of memory, {print_size(free)} are free"
        raise UserError(what, where="storage.capacity_scale", hint="a smaller capacity_scale, or fewer --jobs")


def model_memory_bytes(cell: Experiment) -> int:
    """Memory that the models of a cell's devices need."""
    needed = cell.modelled.modelled_device.memory_bytes(_use(cell))
    return needed + (cache_memory_bytes(cell.flash_cache) if cell.flash_cache is not None else 0)


def modelled_spec(cell: Experiment, seed: int, *, fresh: bool = False) -> dict[str, Any]:
    """What `Run.modelled` takes: the workload, and the device that it is used on (`fresh`: never written)."""
    workload, storage = cell.fileio, cell.modelled
    return {
        "workload": fileio_spec(workload, workload.files, _file_bytes(cell), seed),
        "device": device_spec(
            cell, asynchronous=workload.engine == "io_uring", align_bytes=_align_bytes(cell), fresh=fresh
        ),
        "threads": workload.threads,
        "queue_depth": workload.queue_depth,
        "sync": workload.sync != "none",
        "exclusive_writes": storage.exclusive_writes,
        "rate_per_s": workload.rate_per_s,
        "poisson": workload.arrival == "poisson",
        "continue_on_error": workload.on_error == "continue",
        "interval_ms": round(cell.record.interval_s * 1000),
    }


def device_spec(cell: Experiment, *, asynchronous: bool, align_bytes: int, fresh: bool = False) -> dict[str, Any]:
    """All that is below a cell's workload or modelled database, in the engine's words: the storage, or a cache on it.

    `asynchronous` requests wait in a queue of the kernel's; each is a multiple of `align_bytes`. `fresh`: never
    written, which is made at once.
    """
    cache = cell.flash_cache
    align = align_bytes if cache is None else math.gcd(align_bytes, cache.block_size)
    use = cell.modelled.use(asynchronous=asynchronous, align_bytes=align)
    storage = cell.modelled.modelled_device.spec(_fresh(use) if fresh else use)
    return storage if cache is None else cached_spec(cache, storage, align_bytes=align, fresh=fresh)


def _fresh(use: Use) -> Use:
    return replace(use, initial="fresh", simulate_initial=False)


def _file_bytes(cell: Experiment) -> int:
    """Bytes of each file. They stand one after another, so each is a multiple of what every block is a multiple of."""
    common = math.gcd(*cell.fileio.block_sizes)
    return (cell.size_per_file or 0) // common * common


def _align_bytes(cell: Experiment) -> int:
    """What every request is a multiple of."""
    workload = cell.fileio
    align = math.gcd(*workload.block_sizes)
    if workload.precondition_passes > 0:
        align = math.gcd(align, min(workload.precondition_block_size, _file_bytes(cell)))
    return align


def _use(cell: Experiment) -> Use:
    """How the cell uses its device: with which queue, and in units of which size."""
    return cell.modelled.use(asynchronous=cell.fileio.engine == "io_uring", align_bytes=_align_bytes(cell))
