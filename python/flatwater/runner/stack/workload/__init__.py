"""The workload layer: the source of the requests. Real and modelled workloads are side by side.

real/      fileio on files, transactions on servers
modelled/  the same in virtual time
"""

from __future__ import annotations

from typing import Any

from flatwater.experiment import Experiment
from flatwater.runner.stack.database.modelled.innodb import ModelledInnodb
from flatwater.runner.stack.layers.database import Database
from flatwater.runner.stack.layers.layer import Layer, as_model
from flatwater.runner.stack.layers.servers import Servers
from flatwater.runner.stack.layers.workload import Workload


def open_workload(cell: Experiment, database: Database, below: Layer) -> Workload[Any]:
    """The workload of a cell, on its database, or on the layer below if there is no database."""
    if isinstance(database, ModelledInnodb):
        from flatwater.runner.stack.workload.modelled.transactions import TransactionsOnModel

        return TransactionsOnModel(database)
    if isinstance(database, Servers):
        from flatwater.runner.stack.workload.real.transactions import TransactionsOnServers

        return TransactionsOnServers(database)
    if cell.in_virtual_time:
        from flatwater.runner.stack.workload.modelled.fileio import FileioOnModel

        return FileioOnModel(as_model(below))
    from flatwater.runner.stack.workload.real.fileio import FileioOnFiles

    return FileioOnFiles()
