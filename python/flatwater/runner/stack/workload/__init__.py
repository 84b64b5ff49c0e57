"""The workload layer: the source of the requests. Real and modelled workloads are side by side.

real/      fileio on files, transactions on servers, the work of others on a server
modelled/  the same in virtual time
"""

from __future__ import annotations

from typing import Any

from flatwater.experiment import Experiment, Observed
from flatwater.runner.stack.database.modelled.innodb import ModelledInnodb
from flatwater.runner.stack.layers.database import Database
from flatwater.runner.stack.layers.layer import Layer, as_model
from flatwater.runner.stack.layers.running import LoadHosts
from flatwater.runner.stack.layers.servers import Servers
from flatwater.runner.stack.layers.workload import Workload


def open_workload(cell: Experiment, database: Database, below: Layer, hosts: LoadHosts | None = None) -> Workload[Any]:
    """The workload of a cell, on its database, or on the layer below if there is no database.

    `hosts` make the load of cells with a `[load]`.
    """
    if isinstance(database, ModelledInnodb):
        from flatwater.runner.stack.workload.modelled.transactions import TransactionsOnModel

        return TransactionsOnModel(database)
    if isinstance(cell.workload, Observed):
        from flatwater.runner.stack.database.real.attached import AttachedServer
        from flatwater.runner.stack.workload.real.observed import ObservedWork

        assert isinstance(database, AttachedServer), "checked when the experiment is read"
        return ObservedWork(database)
    if isinstance(database, Servers):
        from flatwater.runner.stack.workload.real.transactions import TransactionsOnServers

        return TransactionsOnServers(database, hosts)
    if cell.in_virtual_time:
        from flatwater.runner.stack.workload.modelled.fileio import FileioOnModel

        return FileioOnModel(as_model(below))
    from flatwater.runner.stack.workload.real.fileio import FileioOnFiles

    return FileioOnFiles(hosts)
