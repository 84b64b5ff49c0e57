"""How MySQL servers are recognised, initialised and logged in to."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from flatwater.server.flavours.flavour import (
    Flavour,
    Making,
    Version,
    base_option,
    create_user,
    grant_all,
    refuse_without,
    tool_beside,
)

#: The statements that make the system tables, and those that fill them. Their places in packages and in tarballs.
_SCRIPTS = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")
_SHARES = ("share", "share/mysql")


class MySQL(Flavour):
    """MySQL Server 5.5 and later."""

    title = "MySQL"
    # The built-in InnoDB of 5.1 has no adaptive flushing; a plugin that not every server had brought it.
    oldest = (5, 5, 0)

    def recognises(self, version_text: str, settings: Collection[str] = ()) -> bool:
        return True

    def initialise(self, server: Path, version: Version, data: Path, options: list[str]) -> Making:
        if version >= (5, 7, 6):
            return Making([*_at(server, data), *options, "--initialize-insecure"])
        # Its accounts have no password, but they are reached only through the private socket.
        tool = tool_beside(server, "mysql_install_db")
        if tool is not None:
            return Making([*_at(tool, data, server), "--force", *options])
        # Some archives have the tool's statements, but not the tool, a script that hands them to the server.
        scripts = _system_tables(server)
        if not scripts:
            refuse_without("mysql_install_db", server, f"share/{_SCRIPTS[0]}")
        # Before 5.6 no system table is InnoDB's. Its log files would have another size than the first start asks for.
        without = ["--loose-skip-innodb", "--default-storage-engine=MyISAM"] if version < (5, 6, 0) else []
        return Making([*_at(server, data), *options, *without, "--bootstrap", "--max_allowed_packet=8M"], scripts)

    def account(self, version: Version, user: str, password: str) -> list[str]:
        # 5.7.6 brought CREATE USER IF NOT EXISTS and a general ALTER USER; 8.0 took accounts out of GRANT.
        return create_user(user, password) if version >= (5, 7, 6) else grant_all(user, password)

    def quiet(self) -> dict[str, str]:
        # The X protocol would listen on a port of its own, and connections over a socket need no certificates.
        return {"mysqlx": "OFF", "auto_generate_certs": "OFF"}

    def makes_redo_anew(self, version: Version) -> bool:
        # "If InnoDB detects that innodb_log_file_size differs from the redo log file size, it writes a log
        # checkpoint, closes and removes the old log files, creates new log files" (manual), since 5.6.8.
        return version < (5, 6, 8)


def _at(program: Path, data: Path, server: Path | None = None) -> list[str]:
    """A program (of the installation of `server`) that works on a data directory."""
    return [str(program), "--no-defaults", *base_option(server or program), f"--datadir={data}"]


def _system_tables(server: Path) -> tuple[Path, ...]:
    """The files with the statements that make the system tables; none if the installation lacks one of them."""
    for share in (server.resolve().parent.parent / name for name in _SHARES):
        found = tuple(share / name for name in _SCRIPTS)
        if all(script.is_file() for script in found):
            return found
    return ()
