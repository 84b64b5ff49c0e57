"""The limits of the checkpoint age at which a server begins to flush, and makes its users wait.

An alarm at a share of the log's size is wrong for every server: each generation has its own limits, and users wait well
before the log is full. Sources: `log_calc_max_ages` (log0log.c of MySQL 5.5, log0log.cc of 5.7), `log_t::set_capacity`
and `buf_flush_page_cleaner` (MariaDB 10.5 and later), log0files_capacity.cc (MySQL 8.0.30 and later). The modelled
InnoDB has the same limits (crates/model/src/database/log/ages.rs).
"""

from __future__ import annotations

from dataclasses import dataclass

from flatwater.experiment.database.lineage import GENERATIONS, engine_generation

#: Percona Server 5.1 to 5.6: innodb_checkpoint_age_target lowers the asynchronous limit to 7/8 of it.
_TARGET_SHARE = 7 / 8


@dataclass(frozen=True)
class RedoLimits:
    """Checkpoint ages in bytes, of all servers of the run together."""

    #: Above it the server flushes as fast as it may. Up to MySQL 5.5 a thread of a user writes pages itself then.
    async_bytes: float
    #: Above it users wait until pages are flushed.
    sync_bytes: float
    #: What the server never exceeds: `Innodb_checkpoint_max_age`.
    max_bytes: float


def redo_limits(generation: str, max_bytes: float, target_bytes: float = 0.0) -> RedoLimits:
    """The limits of a server of this generation, from the largest age that it allows.

    `target_bytes`: Percona Server's innodb_checkpoint_age_target, 0 for none.
    """
    if generation in GENERATIONS and engine_generation(generation) in ("mysql-8.0.11", "mysql-8.0"):
        # Of the capacity: counted from 0.73, flushed at any price from 0.83, users stop at 0.84 (the largest age). The
        # files of 8.0.11 to 8.0.29 have the same share of their largest age: 7/8 of what users have, less the margin.
        found = RedoLimits(max_bytes * 73 / 84, max_bytes, max_bytes)
    elif generation.startswith("mariadb"):
        found = RedoLimits(max_bytes * 7 / 8, max_bytes, max_bytes)
    else:
        found = RedoLimits(max_bytes * 7 / 8, max_bytes * 15 / 16, max_bytes)
    if target_bytes > 0:
        lower = min(found.async_bytes, target_bytes * _TARGET_SHARE)
        return RedoLimits(lower, found.sync_bytes, found.max_bytes)
    return found
