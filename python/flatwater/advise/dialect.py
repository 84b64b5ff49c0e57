"""A server's own words: which settings it has, and how a line of its option file reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from flatwater.advise.advice import Change
from flatwater.analysis.bound.evidence import Database, Variables
from flatwater.errors import UserError
from flatwater.server.flavours import Version
from flatwater.server.lines import Server, Value
from flatwater.server.settings import names_of
from flatwater.server.sizes import read_size, write_size
from flatwater.server.translate import translate_for

#: A generation without a patch number stands for the last release of its series.
_LAST = (0, 0, 99)


@dataclass(frozen=True)
class Dialect:
    """The names and the values of one server's settings."""

    flavour: str
    version: Version
    variables: Variables

    @classmethod
    def of(cls, database: Database) -> Dialect:
        """The dialect of the server that was measured, or of the generation that was modelled."""
        major, minor, patch, *_ = (*database.release, *_LAST[len(database.release) :])
        return cls(database.flavour, (major, minor, patch), database.variables)

    @classmethod
    def each(cls, database: Database) -> dict[str, Dialect]:
        """The dialect of every server, by its name: `server 0`, or `the server` where there is one."""
        one = cls.of(database)
        return {name: cls(one.flavour, one.version, variables) for name, variables in database.named.items()}

    @property
    def title(self) -> str:
        """`MariaDB 10.11.6`."""
        return self._server.title

    def is_mariadb(self, since: Version = (0, 0, 0)) -> bool:
        """Whether it is MariaDB of at least this version."""
        return self._server.is_mariadb(since)

    def is_mysql(self, since: Version = (0, 0, 0)) -> bool:
        """Whether it is MySQL or Percona Server of at least this version."""
        return self._server.is_mysql(since)

    def has(self, name: str) -> bool:
        """Whether this server has the setting, and heeds it."""
        return self._server.has(name)

    def number(self, name: str) -> float | None:
        """The value that the server had; None if it is unknown."""
        return self.variables.number(name)

    def on(self, name: str) -> bool | None:
        """The switch as the server had it; None if it is unknown."""
        return self.variables.on(name)

    def word(self, name: str) -> str:
        """The value that the server had, in lower case; empty if it is unknown."""
        return self.variables.text.get(name, "").strip().lower()

    def lines(self, settings: Mapping[str, Value]) -> tuple[str, ...]:
        """The settings as lines of this server's option file; empty if it lacks one of them."""
        found = self._translated(settings)
        return tuple(f"{name} = {_shortened(name, value)}" if value else name for name, value in found.items())

    def change(self, text: str, settings: Mapping[str, Value]) -> Change | None:
        """The settings as a change, for the server and for an experiment.

        None if the server lacks one of them, or had all of these values already.
        """
        found = self._translated(settings)
        if not found or all(_is_same(value, self.variables.text.get(name)) for name, value in found.items()):
            return None
        overrides = tuple(f"database.settings.{name}={value}" for name, value in found.items())
        return Change("setting", text, self.lines(settings), overrides)

    def _translated(self, settings: Mapping[str, Value]) -> Mapping[str, str]:
        try:
            return translate_for(settings, self._server)
        except UserError:
            return {}

    @property
    def _server(self) -> Server:
        return Server(self.flavour, self.version, _names(self.flavour, self.version))


@cache
def _names(flavour: str, version: Version) -> frozenset[str]:
    # Every rule asks for them.
    return names_of(flavour, version)


def _shortened(name: str, value: str) -> str:
    """Bytes as an administrator writes them: 2G."""
    return write_size(int(value)) if name.endswith(("_size", "_log_capacity")) and value.isdecimal() else value


_SWITCH = {"on": "1", "true": "1", "yes": "1", "off": "0", "false": "0", "no": "0"}


def _is_same(wanted: str, had: str | None) -> bool:
    """Whether a value of an option file is what the server had; False where that is unknown."""
    if had is None:
        return False
    left, right = (_SWITCH.get(text.strip().lower(), text.strip().lower()) for text in (wanted, had))
    if left == right:
        return True
    sizes = read_size(left), read_size(right)
    if None not in sizes:
        return sizes[0] == sizes[1]
    try:
        return float(left) == float(right)
    except ValueError:
        return False
