"""Where Percona Server differs from the MySQL that it is made from."""

from __future__ import annotations

from flatwater.server.flavours.flavour import Version
from flatwater.server.flavours.mysql import MySQL


class Percona(MySQL):
    """Percona Server 5.5 and later: MySQL of the same version, with XtraDB."""

    title = "Percona Server"

    def recognises(self, version_text: str) -> bool:
        return "percona" in version_text.lower()

    def makes_redo_anew(self, version: Version) -> bool:
        # Before 5.7 the block size of the log is a setting, too (innodb_log_block_size). The server refuses log files
        # with another block size, whatever their length.
        return version < (5, 7, 0)
