"""Where Percona Server differs from the MySQL that it is made from."""

from __future__ import annotations

from collections.abc import Collection

from flatwater.server.flavours.flavour import Version
from flatwater.server.flavours.mysql import MySQL

#: Settings of XtraDB alone: in 5.1, in 5.5, in 5.6 and 5.7. MariaDB's, which has them too, names itself.
_ONLY_XTRADB = ("innodb_adaptive_checkpoint", "innodb_adaptive_flushing_method", "innodb_cleaner_lsn_age_factor")


class Percona(MySQL):
    """Percona Server 5.1 and later: MySQL of the same version, with XtraDB."""

    title = "Percona Server"
    # XtraDB had adaptive flushing before MySQL's own InnoDB did.
    oldest = (5, 1, 0)

    def recognises(self, version_text: str, settings: Collection[str] = ()) -> bool:
        # Those who build it themselves get a server that says "Source distribution".
        return "percona" in version_text.lower() or any(name in settings for name in _ONLY_XTRADB)

    def makes_redo_anew(self, version: Version) -> bool:
        # Before 5.7 the block size of the log is a setting, too (innodb_log_block_size). The server refuses log files
        # with another block size, whatever their length.
        return version < (5, 7, 0)
