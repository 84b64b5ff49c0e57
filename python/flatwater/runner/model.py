"""A workload on modelled storage: nothing of this machine is used but its processors."""

from __future__ import annotations

from pathlib import Path

import psutil

from flatwater._engine import EngineError, Run
from flatwater.engine_json import to_json
from flatwater.errors import UserError
from flatwater.experiment import Experiment, PlannedCell, print_size
from flatwater.experiment.device.text import storage_text
from flatwater.plan.fileio import ModelledFileio, fileio_use, preconditioning, write_modelled_fileio
from flatwater.plan.run import Plan
from flatwater.probe import Probe
from flatwater.runner.cached_model import cache_memory_bytes, cached_notes
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter
from flatwater.runner.resuming import Left
from flatwater.runner.spec import derived_seed
from flatwater.runner.stack import Stack


class ModelStack(Stack):
    """fileio on a device of `devices/`, or on a cache on two of them, in virtual time."""

    def __init__(self, experiment: Experiment, plan: PlannedCell) -> None:
        self._cell = plan.experiment

    def check_sweep(self) -> None:
        # Every cell was checked against its device when the experiment was read; here is what only the engine knows.
        # A fresh device is made at once, however large.
        self.start(write_modelled_fileio(self._cell, 0, fresh=True))

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

    def workload_spec(self, seed: int) -> Plan:
        return write_modelled_fileio(self._cell, seed)

    def precondition_spec(self, seed: int) -> Plan | None:
        if self._cell.fileio.precondition_passes <= 0:
            return None
        plan = write_modelled_fileio(self._cell, derived_seed(seed, "precondition"))
        return preconditioning(self._cell.fileio, plan)

    def start(self, plan: Plan, after: Run | None = None) -> Run:
        assert isinstance(plan, ModelledFileio)
        if after is None:
            _check_memory(self._cell)
        try:
            return Run.modelled(to_json(plan), after)
        except EngineError as error:
            # What cannot be of a device is the experiment's fault, not a run's that failed.
            where = "storage.device" if self._cell.flash_cache is None else "cache"
            raise UserError(str(error), where=where) from None

    def warnings(self) -> list[str]:
        notes = self._cell.modelled.modelled_device.notes(fileio_use(self._cell))
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
    needed = cell.modelled.modelled_device.memory_bytes(fileio_use(cell))
    return needed + (cache_memory_bytes(cell.flash_cache) if cell.flash_cache is not None else 0)
