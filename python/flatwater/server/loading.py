"""What a server runs with while data is loaded: fast, and leaving every copy in the same state."""

from __future__ import annotations

from flatwater.server.binary import Binary
from flatwater.server.sizes import write_size
from flatwater.server.translate import Server, translate_for

_MIB = 2**20
#: Enough that loading is not held up by the log, little enough that copies of it cost little; under the 4 GiB of 5.5.
_REDO_BYTES = (128 * _MIB, 2048 * _MIB)
#: A pool that holds what is loaded makes its indexes faster; the rest of memory is the page cache's and the loader's.
_POOL_SHARE_MAX = 0.4
_POOL_BYTES_MIN = 128 * _MIB

#: None of these shapes the bytes that are kept. Those that a server does not have are left out.
_SETTINGS = {
    # A load that a crash cuts short is begun anew or goes on after recovery of this boot: nothing here needs a disk
    # that loses its power to keep its promises.
    "innodb_doublewrite": "0",
    "innodb_flush_log_at_trx_commit": "0",
    "sync_binlog": "0",
    # Pages wait in memory until they are full, rather than being written several times.
    "innodb_max_dirty_pages_pct": "90",
    "innodb_io_capacity": "2000",
    "innodb_io_capacity_max": "4000",
    "innodb_adaptive_hash_index": "0",
    # "A slow shutdown": purge is done and the change buffer merged, so that no cell spends its first minutes with what
    # the loading left behind, and all begin alike. It is also the state from which other versions can start.
    "innodb_fast_shutdown": "0",
    "innodb_change_buffering": "none",
    # Copies start with a cold buffer pool, every one.
    "innodb_buffer_pool_dump_at_shutdown": "0",
    "innodb_buffer_pool_load_at_startup": "0",
    "performance_schema": "0",
    "query_cache_type": "0",
    "slow_query_log": "0",
    "local_infile": "1",
    # Rows come in statements of several MiB.
    "max_allowed_packet": "64M",
    "innodb_log_buffer_size": "64M",
    # Statements of a loader that waits for a slow disk are not given up.
    "wait_timeout": "86400",
    "net_read_timeout": "3600",
    "net_write_timeout": "3600",
}


def loading_settings(binary: Binary, *, memory_bytes: int, data_bytes: int) -> dict[str, str]:
    """my.cnf lines for loading about `data_bytes` on a machine with `memory_bytes`; pass them as `Instance.chosen`.

    The experiment's own settings are not to be used while loading, but for those that shape bytes (`shaping`).
    """
    options = binary.options()
    redo = min(max(data_bytes // 4, _REDO_BYTES[0]), _REDO_BYTES[1]) // _MIB * _MIB
    pool = max(min(int(data_bytes * 1.25), int(memory_bytes * _POOL_SHARE_MAX)), _POOL_BYTES_MIN) // _MIB * _MIB
    server = Server(binary.flavour, binary.version, options.keys())
    lines = translate_for({"innodb_redo_log_capacity": write_size(redo), "log_bin": False}, server)
    lines["innodb_buffer_pool_size"] = write_size(pool)
    lines |= {name: value for name, value in _SETTINGS.items() if name in options}
    return lines
