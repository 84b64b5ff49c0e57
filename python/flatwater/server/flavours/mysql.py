"""How MySQL servers are recognised, initialised and logged in to."""

from __future__ import annotations

from pathlib import Path

from flatwater.server.flavours.flavour import Flavour, Version, base_option, create_user, grant_all, tool_beside


class MySQL(Flavour):
    """MySQL Server 5.5 and later."""

    title = "MySQL"

    def recognises(self, version_text: str) -> bool:
        return True

    def initialise(self, server: Path, version: Version, data: Path, options: list[str]) -> list[str]:
        if version >= (5, 7, 6):
            return [
                str(server),
                "--no-defaults",
                *base_option(server),
                f"--datadir={data}",
                *options,
                "--initialize-insecure",
            ]
        # Its accounts have no password, but they are reached only through the private socket.
        tool = tool_beside(server, "mysql_install_db")
        return [str(tool), "--no-defaults", *base_option(server), f"--datadir={data}", "--force", *options]

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
