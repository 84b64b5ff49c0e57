"""The database layer: servers between the workload and the storage. Real and modelled servers are side by side.

none.py    no database
real/      servers that flatwater starts, and one that runs already
modelled/  InnoDB in virtual time
"""

from __future__ import annotations

from typing import assert_never

from flatwater.experiment import Experiment
from flatwater.experiment import database as kinds
from flatwater.runner.stack.database.none import NoDatabase
from flatwater.runner.stack.layers.database import Database
from flatwater.runner.stack.layers.layer import Layer, as_model


def open_database(cell: Experiment, below: Layer) -> Database:
    """The database of a cell, on the layer below."""
    database = cell.database
    if isinstance(database, kinds.NoDatabase):
        return NoDatabase()
    if isinstance(database, kinds.InnodbModel):
        from flatwater.runner.stack.database.modelled.innodb import ModelledInnodb

        return ModelledInnodb(as_model(below))
    if not isinstance(database, kinds.Server):
        assert_never(database)
    if database.attached:
        from flatwater.runner.stack.database.real.attached import AttachedServer

        return AttachedServer()
    from flatwater.runner.stack.database.real.started import StartedServers

    return StartedServers()
