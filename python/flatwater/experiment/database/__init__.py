"""The database layer: what sits between the workload and the storage. One file a kind, met in KINDS.

settings.py and address.py serve server.py: the server's own settings, and where a server that runs already is;
innodb_settings.py and placement.py serve innodb.py, the modelled server. placed.py serves both: parts of a server on
other storages.
"""

from __future__ import annotations

from flatwater.experiment.database.innodb import InnodbModel
from flatwater.experiment.database.none import NoDatabase
from flatwater.experiment.database.server import Server, ServerFault
from flatwater.experiment.layer import Layer

__all__ = ["KINDS", "PLANNED", "Database", "InnodbModel", "NoDatabase", "Server", "ServerFault"]

#: Any database: `kind` decides which.
Database = NoDatabase | Server | InnodbModel

#: Every kind of database that works.
KINDS: dict[str, type[Layer]] = {"none": NoDatabase, "server": Server, "innodb-model": InnodbModel}
#: Kinds of the design that are not built yet.
PLANNED: tuple[str, ...] = ()
