"""The flavours of server that flatwater supports: one file each. All differences between them are in here.

A new flavour is a class like `MariaDB`, listed in FLAVOURS; its settings' names go into `flatwater.server.settings`.
"""

from __future__ import annotations

from flatwater.server.flavours.flavour import Flavour, Version
from flatwater.server.flavours.mariadb import MariaDB
from flatwater.server.flavours.mysql import MySQL
from flatwater.server.flavours.percona import Percona

__all__ = ["FLAVOURS", "Flavour", "Version", "recognise"]

#: In the order of the checks. MySQL comes last, because it accepts every version text.
FLAVOURS: dict[str, Flavour] = {"mariadb": MariaDB(), "percona": Percona(), "mysql": MySQL()}


def recognise(version_text: str) -> str:
    """The flavour of a server with this text (of `--version`, or its version and version_comment)."""
    return next(key for key, flavour in FLAVOURS.items() if flavour.recognises(version_text))
