"""The flavours of server that flatwater supports: one file each. All differences between them are in here.

A new flavour is a class like `MariaDB`, listed in FLAVOURS; its settings' names go into `flatwater.server.settings`.
"""

from __future__ import annotations

from collections.abc import Collection

from flatwater.errors import UserError
from flatwater.server.flavours.flavour import Flavour, Making, Version
from flatwater.server.flavours.mariadb import MariaDB
from flatwater.server.flavours.mysql import MySQL
from flatwater.server.flavours.percona import Percona

__all__ = ["FLAVOURS", "Flavour", "Making", "Version", "recognise", "refuse_too_old"]

#: In the order of the checks. MySQL comes last, because it accepts every version text.
FLAVOURS: dict[str, Flavour] = {"mariadb": MariaDB(), "percona": Percona(), "mysql": MySQL()}


def recognise(version_text: str, settings: Collection[str] = ()) -> str:
    """The flavour of a server with this text (of `--version`, or its version and version_comment).

    `settings`: the names of its settings, where they are known: not every Percona Server names itself.
    """
    return next(key for key, flavour in FLAVOURS.items() if flavour.recognises(version_text, settings))


def refuse_too_old(who: str, flavour: str, version: Version, text: str, *, where: str) -> None:
    """Errors: UserError for a server (`who` is its path or address) that is older than flatwater knows it."""
    known = FLAVOURS[flavour]
    if version < known.oldest:
        oldest = ", ".join(f"{one.title} {one.oldest[0]}.{one.oldest[1]}" for one in FLAVOURS.values())
        what = f"{who} is {known.title} {text}: the oldest that flatwater knows is {known.oldest[0]}.{known.oldest[1]}"
        raise UserError(what, where=where, hint=f"a newer server; the oldest are {oldest}")
