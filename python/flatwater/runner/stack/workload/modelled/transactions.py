"""Transactions (tpcc, oltp) on a modelled InnoDB, in virtual time."""

from __future__ import annotations

import psutil

from flatwater._engine import EngineError, Run
from flatwater.engine_json import to_json
from flatwater.errors import UserError
from flatwater.experiment import Experiment, print_size
from flatwater.plan.innodb import ModelledDatabase, write_innodb
from flatwater.runner.stack.database.modelled.innodb import ModelledInnodb
from flatwater.runner.stack.layers.workload import Workload

_LESS_MEMORY = (
    "less data, a smaller pool, a part of the device (capacity_scale of storage or twin.storage), or fewer --jobs"
)


class TransactionsOnModel(Workload[ModelledDatabase]):
    """tpcc or oltp on a modelled server, on any model of a storage."""

    def __init__(self, database: ModelledInnodb) -> None:
        self._database = database

    def check_sweep(self, experiment: Experiment) -> None:
        # Fresh devices are made at once, and so is an empty pool.
        self.start(write_innodb(self._cell, 0, fresh=True))

    def plan(self, seed: int) -> ModelledDatabase:
        return write_innodb(self._cell, seed)

    def start(self, plan: ModelledDatabase, after: Run | None = None) -> Run:
        self._check_memory()
        try:
            return Run.modelled_database(to_json(plan), self._database.policies(plan))
        except EngineError as error:
            where = "database" if str(error).startswith(("database.", "workload.")) else "storage.device"
            raise UserError(str(error), where=where) from None

    def warnings(self) -> list[str]:
        warnings = [f"the model is not quite its device: {note}" for note in self._database.notes]
        if self._database.ignored:
            warnings.append(f"settings that change nothing in the model: {', '.join(self._database.ignored)}")
        return warnings

    @property
    def memory_bytes(self) -> int:
        return self._database.memory_bytes

    def _check_memory(self) -> None:
        """Refuses a model that needs more memory than there is: Linux would kill a process."""
        needed, free = self.memory_bytes, psutil.virtual_memory().available
        if needed > free:
            what = f"the model takes {print_size(needed)} of memory, {print_size(free)} are free"
            raise UserError(what, where="database", hint=_LESS_MEMORY)
