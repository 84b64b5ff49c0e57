"""Transactions (tpcc, oltp) on a modelled InnoDB, in virtual time."""

from __future__ import annotations

from flatwater._engine import EngineError, Run
from flatwater.engine_json import to_json
from flatwater.errors import UserError
from flatwater.experiment import Experiment
from flatwater.plan.innodb import ModelledDatabase, write_innodb
from flatwater.runner.innodb_model import check_memory, model_notes, policies_of
from flatwater.runner.stack.database.modelled import ModelledInnodb
from flatwater.runner.stack.layers.workload import Workload


class TransactionsOnModel(Workload[ModelledDatabase]):
    """tpcc or oltp on a modelled server, which stands on any model of a storage."""

    def __init__(self, database: ModelledInnodb) -> None:
        self._database = database

    def check_sweep(self, experiment: Experiment) -> None:
        # Devices are made at once when they are fresh, and a pool when nothing was before.
        self.start(write_innodb(self._cell, 0, fresh=True))

    def plan(self, seed: int) -> ModelledDatabase:
        return write_innodb(self._cell, seed)

    def start(self, plan: ModelledDatabase, after: Run | None = None) -> Run:
        check_memory(self._cell)
        try:
            return Run.modelled_database(to_json(plan), policies_of(self._cell, plan))
        except EngineError as error:
            where = "database" if str(error).startswith(("database.", "workload.")) else "storage.device"
            raise UserError(str(error), where=where) from None

    def warnings(self) -> list[str]:
        told = [f"the model is not quite its device: {note}" for note in model_notes(self._cell)]
        if self._database.ignored:
            told.append(f"settings that change nothing in the model: {', '.join(self._database.ignored)}")
        return told
