"""What every rule of translation knows: the server, how a line is renamed, and how one is refused."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass
from typing import NoReturn

from flatwater.errors import UserError
from flatwater.server.flavours import FLAVOURS, Version
from flatwater.server.settings import INSTEAD, is_ignored, who_has

Value = int | float | str | bool


@dataclass(frozen=True)
class Server:
    """The server for which settings are translated: its flavour, its version and the names of its options."""

    flavour: str
    version: Version
    options: Collection[str]

    @property
    def title(self) -> str:
        """For people: `MariaDB 10.11.6`."""
        return f"{FLAVOURS[self.flavour].title} {'.'.join(map(str, self.version))}"

    def has(self, name: str) -> bool:
        """Whether it has the setting, and does not ignore it."""
        return name in self.options and not is_ignored(name, self.flavour, self.version)

    def is_mariadb(self, since: Version = (0, 0, 0)) -> bool:
        """Whether it is MariaDB of at least this version."""
        return self.flavour == "mariadb" and self.version >= since

    def is_mysql(self, since: Version = (0, 0, 0)) -> bool:
        """Whether it is MySQL or Percona Server of at least this version."""
        return self.flavour != "mariadb" and self.version >= since


def refuse(name: str, what: str, hint: str | None = None) -> NoReturn:
    """Raises the error of one setting."""
    raise UserError(what, where=f"database.settings.{name}", hint=hint)


def refuse_missing(name: str, server: Server) -> NoReturn:
    """Raises the error of a setting that the server does not have."""
    owners = who_has(name)
    hint = INSTEAD.get((name, server.flavour))
    if owners:
        refuse(name, f"{server.title} does not have it: it is a setting of {owners}", hint)
    near = difflib.get_close_matches(name, server.options, n=1, cutoff=0.75)
    refuse(
        name,
        f"{server.title} does not have a setting of this name",
        hint or (f"did you mean {near[0]}?" if near else None),
    )


def replace(lines: dict[str, str], old: str, new: str, value: str) -> None:
    """Replaces a setting by one of another name, at the same place in the order."""
    if new in lines:
        refuse(old, f"{new} says the same thing", "give one of the two")
    renamed = {new if name == old else name: (value if name == old else text) for name, text in lines.items()}
    lines.clear()
    lines.update(renamed)


def read_switch(text: str | None) -> bool | None:
    """Whether a switch is on; None for anything that is no switch."""
    return {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}.get((text or "").lower())
