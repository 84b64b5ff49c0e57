"""The interface of a flavour of server, and what several flavours share."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol

from flatwater.errors import UserError

#: Major, minor, patch.
Version = tuple[int, int, int]


@dataclass(frozen=True)
class Making:
    """How an empty data directory is filled: a command, and files of SQL that it reads from its standard input."""

    command: list[str]
    scripts: tuple[Path, ...] = ()


class Flavour(Protocol):
    """How servers of one flavour are recognised, initialised and logged in to."""

    #: For people.
    title: str
    #: The first version whose InnoDB flushes by itself before its log is full, in every build.
    oldest: Version

    def recognises(self, version_text: str, settings: Collection[str] = ()) -> bool:
        """Whether a server with this version text, and with these names of settings, is of this flavour."""

    def initialise(self, server: Path, version: Version, data: Path, options: list[str]) -> Making:
        """The command that fills the empty data directory; `options` (`--name=value`) go to the server.

        Errors: UserError when the server's tools are missing.
        """

    def account(self, version: Version, user: str, password: str) -> list[str]:
        """SQL statements that make `user`@localhost with this password and all rights, or change its password."""

    def quiet(self) -> dict[str, str]:
        """Settings that switch off what a server behind a private socket does not need, if the server has them."""

    def makes_redo_anew(self, version: Version) -> bool:
        """Whether redo log files of another size must be deleted (after a clean shutdown) for it to start.

        Servers that answer False change the size by themselves when they start.
        """


def tool_beside(server: Path, *names: str) -> Path | None:
    """A tool of the server's installation: beside the server, or in `bin` or `scripts` of the installation.

    None if it is not there. A tool on PATH is not used: it could belong to another server.
    """
    for place in dict.fromkeys((server, server.resolve())):
        for folder in (place.parent, place.parent.parent / "bin", place.parent.parent / "scripts"):
            for name in names:
                if (folder / name).is_file():
                    return folder / name
    return None


def refuse_without(tool: str, server: Path, *others: str) -> NoReturn:
    """Raises the error of a server without the tool that makes its data directories."""
    raise UserError(
        f"{tool} is not installed beside {server}: no data directory can be made",
        where="database.binary",
        hint=f"install it (it comes with the server's package), or give a server with {' or '.join((tool, *others))}",
    )


def base_folder(server: Path) -> Path | None:
    """The folder of a server that is not installed with the system, with its message files and SQL; else None."""
    prefix = server.resolve().parent.parent
    return None if prefix == Path("/usr") else prefix


def base_option(server: Path) -> list[str]:
    """`--basedir` for the tools and the server, where they need it."""
    prefix = base_folder(server)
    return [] if prefix is None else [f"--basedir={prefix}"]


def grant_all(user: str, password: str) -> list[str]:
    """The statement that makes an account or changes its password, for servers whose CREATE USER cannot do both."""
    return [f"GRANT ALL PRIVILEGES ON *.* TO '{user}'@'localhost' IDENTIFIED BY '{password}' WITH GRANT OPTION;"]


def create_user(user: str, password: str) -> list[str]:
    """The statements for servers in which GRANT no longer makes accounts."""
    return [
        f"CREATE USER IF NOT EXISTS '{user}'@'localhost' IDENTIFIED BY '{password}';",
        f"ALTER USER '{user}'@'localhost' IDENTIFIED BY '{password}';",
        f"GRANT ALL PRIVILEGES ON *.* TO '{user}'@'localhost' WITH GRANT OPTION;",
    ]
