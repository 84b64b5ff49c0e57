"""How MariaDB servers are recognised, initialised and logged in to."""

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


class MariaDB(Flavour):
    """MariaDB Server 5.5 and later: 5.5, 10.0 and 10.1 run XtraDB, later ones InnoDB of MariaDB's own."""

    title = "MariaDB"
    oldest = (5, 5, 0)

    def recognises(self, version_text: str, settings: Collection[str] = ()) -> bool:
        return "mariadb" in version_text.lower()

    def initialise(self, server: Path, version: Version, data: Path, options: list[str]) -> Making:
        tool = tool_beside(server, "mariadb-install-db", "mysql_install_db")
        if tool is None:
            refuse_without("mariadb-install-db", server, "mysql_install_db")
        # Since 10.4 the default lets root in by the owner of the socket. "normal" is what all versions can do.
        newer = ["--auth-root-authentication-method=normal", "--skip-test-db"] if version >= (10, 4, 0) else []
        # Reverse look-ups of host names are not needed, and can hang without a network.
        command = [str(tool), "--no-defaults", *base_option(server), f"--datadir={data}", *newer]
        return Making([*command, "--skip-name-resolve", "--force", *options])

    def account(self, version: Version, user: str, password: str) -> list[str]:
        # ALTER USER came with 10.2.0.
        return create_user(user, password) if version >= (10, 2, 0) else grant_all(user, password)

    def quiet(self) -> dict[str, str]:
        # Since 11.4 it makes a key for TLS at each start, which takes seconds.
        return {"ssl": "OFF"}

    def makes_redo_anew(self, version: Version) -> bool:
        # 10.0 took over InnoDB 5.6, which resizes its log after a clean shutdown.
        return version < (10, 0, 0)
