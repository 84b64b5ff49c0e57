"""The database layer: what sits between the workload and what is below. Real and modelled servers stand beside each
other.

none.py      no database
real/        servers that flatwater starts, and one that runs already
modelled.py  InnoDB in virtual time
"""

from __future__ import annotations

from flatwater.experiment import Experiment, Server
from flatwater.runner.stack.database.none import NoDatabase
from flatwater.runner.stack.layers.database import Database
from flatwater.runner.stack.layers.layer import Layer, as_model


def open_database(cell: Experiment, below: Layer) -> Database:
    """The database of a cell, on the layer below."""
    if cell.database.kind == "none":
        return NoDatabase()
    if not isinstance(cell.database, Server):
        from flatwater.runner.stack.database.modelled.innodb import ModelledInnodb

        return ModelledInnodb(as_model(below))
    if cell.database.attached:
        from flatwater.runner.stack.database.real.attached import AttachedServer

        return AttachedServer()
    from flatwater.runner.stack.database.real.started import StartedServers

    return StartedServers()
