"""fileio in virtual time, on a device of `devices/`, or on a cache over two of them."""

from __future__ import annotations

import psutil

from flatwater._engine import EngineError, Run
from flatwater.engine_json import to_json
from flatwater.errors import UserError
from flatwater.experiment import Experiment, print_size
from flatwater.plan.fileio import ModelledFileio, fileio_use, preconditioning, write_modelled_fileio
from flatwater.runner.seeds import derived_seed
from flatwater.runner.stack.layers.layer import Model
from flatwater.runner.stack.layers.workload import Workload


class FileioOnModel(Workload[ModelledFileio]):
    """fileio on any model of a storage."""

    def __init__(self, below: Model) -> None:
        self._below = below

    def check_sweep(self, experiment: Experiment) -> None:
        # The check of the experiment covered everything but what only the engine knows. A fresh device is made at once,
        # whatever its size.
        self.start(write_modelled_fileio(self._cell, 0, fresh=True))

    def plan(self, seed: int) -> ModelledFileio:
        return write_modelled_fileio(self._cell, seed)

    def precondition_plan(self, seed: int) -> ModelledFileio | None:
        if self._cell.fileio.precondition_passes <= 0:
            return None
        plan = write_modelled_fileio(self._cell, derived_seed(seed, "precondition"))
        return preconditioning(self._cell.fileio, plan)

    def start(self, plan: ModelledFileio, after: Run | None = None) -> Run:
        if after is None:
            self._check_memory()
        try:
            return Run.modelled(to_json(plan), after)
        except EngineError as error:
            # A plan that the device cannot have is an error of the experiment, not a failed run.
            where = "storage.device" if self._cell.flash_cache is None else "cache"
            raise UserError(str(error), where=where) from None

    def warnings(self) -> list[str]:
        return [f"the model is not quite its device: {note}" for note in self._below.notes(fileio_use(self._cell))]

    @property
    def memory_bytes(self) -> int:
        return self._below.memory_bytes(fileio_use(self._cell))

    def _check_memory(self) -> None:
        """Refuses a device whose model needs more memory than there is: Linux would kill a process."""
        needed, free = self.memory_bytes, psutil.virtual_memory().available
        if needed > free:
            device = self._cell.modelled.device
            what = f"the model of {device} takes {print_size(needed)} of memory, {print_size(free)} are free"
            raise UserError(what, where="storage.capacity_scale", hint="a smaller capacity_scale, or fewer --jobs")
