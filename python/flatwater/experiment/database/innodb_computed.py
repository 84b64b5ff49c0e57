"""Defaults that servers compute: from other settings, and from the processors and the memory of their machine.

Sources: MySQL's manuals, "InnoDB Startup Options and System Variables" and "Enabling Automatic InnoDB Configuration for
a Dedicated MySQL Server" (8.0 and 8.4); the release notes of 9.5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from flatwater.experiment.database.innodb_values import Value

_MIB, _GIB = 1 << 20, 1 << 30
#: The smallest pool that is divided by itself (BUF_POOL_SIZE_THRESHOLD of MySQL 5.6 and later), and in how many.
_DIVIDED_BYTES, _DIVIDED_IN = 1 << 30, 8
_INSTANCES_MAX = 64
#: A pool, and a redo log, as they are without innodb_dedicated_server.
_USUAL_POOL_BYTES, _USUAL_REDO_BYTES = 128 * _MIB, 100 * _MIB
#: MySQL 8.0's table of redo logs, by memory in GiB: up to where, and the share of it that is rounded, and times what.
_REDO_BY_MEMORY = ((32 / 3, 0.75, _GIB // 2), (512 / 3, 0.5625, _GIB))
_REDO_BEYOND_BYTES = 128 * _GIB


@dataclass(frozen=True)
class Host:
    """What a server finds on its machine when it starts."""

    #: Hardware threads: the kernel counts each as a processor.
    processors: int = 16
    #: None: not told.
    memory_bytes: int | None = None


#: Computes a default from the settings that are known by then.
Computed = Callable[[Mapping[str, Value], Host], Value]


def _number(read: Mapping[str, Value], name: str) -> int:
    return cast(int, read[name])


def io_capacity_max(read: Mapping[str, Value], _host: Host) -> int:
    """Twice innodb_io_capacity, and at least 2000."""
    return max(2 * _number(read, "innodb_io_capacity"), 2000)


def log_file_buffering(read: Mapping[str, Value], _host: Host) -> bool:
    """MariaDB switches it on for a server that is started with innodb_flush_log_at_trx_commit = 2 (MDEV-28766)."""
    return read["innodb_flush_log_at_trx_commit"] == 2


def eight_instances(read: Mapping[str, Value], _host: Host) -> int:
    """MySQL 5.6 to 8.0: 8, and 1 for a pool below 1 GiB."""
    return _DIVIDED_IN if _number(read, "innodb_buffer_pool_size") >= _DIVIDED_BYTES else 1


def instances(read: Mapping[str, Value], host: Host) -> int:
    """MySQL 8.4: by the chunks of the pool and by the processors, whichever gives fewer; 1 up to 1 GiB."""
    pool = _number(read, "innodb_buffer_pool_size")
    if pool <= _DIVIDED_BYTES:
        return 1
    by_pool = pool // _number(read, "innodb_buffer_pool_chunk_size") // 2
    return min(max(min(by_pool, host.processors // 4), 1), _INSTANCES_MAX)


def page_cleaners(read: Mapping[str, Value], _host: Host) -> int:
    """MySQL 8.4: one for each instance of the pool."""
    return _number(read, "innodb_buffer_pool_instances")


def doublewrite_files(read: Mapping[str, Value], _host: Host) -> int:
    """MySQL 8.0: two for each instance of the pool."""
    return 2 * _number(read, "innodb_buffer_pool_instances")


def read_io_threads(_read: Mapping[str, Value], host: Host) -> int:
    """MySQL 8.4: half of the processors, at least 4."""
    return min(max(host.processors // 2, 4), 64)


def purge_threads(_read: Mapping[str, Value], host: Host) -> int:
    """MySQL 8.4: 1 up to 16 processors, 4 above."""
    return 1 if host.processors <= 16 else 4


def log_writer_threads(_read: Mapping[str, Value], host: Host) -> bool:
    """MySQL 8.4: from 32 processors on."""
    return host.processors >= 32


def log_writer_threads_without_binlog(read: Mapping[str, Value], host: Host) -> bool:
    """MySQL 9.5: above 4 processors where there is no binary log, and else as in 8.4."""
    return log_writer_threads(read, host) or (not read["log_bin"] and host.processors > 4)


def pool_of_dedicated(read: Mapping[str, Value], host: Host) -> int:
    """With innodb_dedicated_server half of the memory up to 4 GiB and three quarters above; else 128 MiB."""
    memory = host.memory_bytes
    if not read["innodb_dedicated_server"] or memory is None or memory < _GIB:
        return _USUAL_POOL_BYTES
    return memory // 2 if memory <= 4 * _GIB else memory * 3 // 4


def redo_of_dedicated_8_0(read: Mapping[str, Value], host: Host) -> int:
    """MySQL 8.0.30 with innodb_dedicated_server: by the memory."""
    memory = host.memory_bytes
    if not read["innodb_dedicated_server"] or memory is None or memory < 2 * _GIB:
        return _USUAL_REDO_BYTES
    gib = memory / _GIB
    if gib < 4:
        computed = read["innodb_buffer_pool_size"] == pool_of_dedicated(read, host)
        return _GIB if computed else round(0.5 * gib) * _GIB // 2
    for limit, share, unit in _REDO_BY_MEMORY:
        if gib <= limit:
            return round(share * gib) * unit
    return _REDO_BEYOND_BYTES


def redo_of_dedicated(read: Mapping[str, Value], host: Host) -> int:
    """MySQL 8.4 with innodb_dedicated_server: half a GiB for each processor, at most 16 GiB."""
    return min(host.processors * _GIB // 2, 16 * _GIB) if read["innodb_dedicated_server"] else _USUAL_REDO_BYTES
