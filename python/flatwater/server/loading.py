"""The settings of a server while it loads data: they make it fast, and leave every copy in the same state."""

from __future__ import annotations

from flatwater.server.binary import Binary
from flatwater.server.lines import Server, Value
from flatwater.server.sizes import write_size
from flatwater.server.translate import translate_for

_MIB = 2**20
#: Large enough that loading does not wait for the log; small enough for cheap copies; under the 4 GiB limit of 5.5.
_REDO_BYTES = (128 * _MIB, 2048 * _MIB)
#: A pool that holds the loaded data builds indexes faster. The rest of the memory is for the page cache and the loader.
_POOL_SHARE_MAX = 0.4
_POOL_BYTES_MIN = 128 * _MIB

#: None of these settings changes the bytes that are kept. Those that a server does not have are left out.
_SETTINGS = {
    # After a power failure the load starts again from the beginning, so it needs no protection against one. After a
    # crash of the server alone it continues.
    "innodb_doublewrite": "0",
    "innodb_flush_log_at_trx_commit": "0",
    "sync_binlog": "0",
    # Pages stay in memory until they are full, instead of being written several times.
    "innodb_max_dirty_pages_pct": "90",
    "innodb_io_capacity": "2000",
    "innodb_io_capacity_max": "4000",
    "innodb_adaptive_hash_index": "0",
    # "A slow shutdown" completes the purge and merges the change buffer. So no cell spends its first minutes with work
    # that the loading left, and all cells begin alike. Other versions can also start only from this state.
    "innodb_fast_shutdown": "0",
    "innodb_change_buffering": "none",
    # Every copy starts with a cold buffer pool.
    "innodb_buffer_pool_dump_at_shutdown": "0",
    "innodb_buffer_pool_load_at_startup": "0",
    "performance_schema": "0",
    "query_cache_type": "0",
    "slow_query_log": "0",
    "local_infile": "1",
    # The loader sends rows in statements of several MiB.
    "max_allowed_packet": "64M",
    "innodb_log_buffer_size": "64M",
    # The server keeps the connection of a loader that waits for a slow disk.
    "wait_timeout": "86400",
    "net_read_timeout": "3600",
    "net_write_timeout": "3600",
}


def loading_settings(binary: Binary, *, memory_bytes: int, data_bytes: int) -> dict[str, str]:
    """my.cnf lines for loading about `data_bytes` on a machine with `memory_bytes`; pass them as `Instance.chosen`.

    The settings of the experiment are not used while loading, except those that shape the bytes on disk (`shaping`).
    """
    options = binary.options()
    redo = min(max(data_bytes // 4, _REDO_BYTES[0]), _REDO_BYTES[1]) // _MIB * _MIB
    pool = max(min(int(data_bytes * 1.25), int(memory_bytes * _POOL_SHARE_MAX)), _POOL_BYTES_MIN) // _MIB * _MIB
    server = Server(binary.flavour, binary.version, options.keys())
    log: dict[str, Value] = {"innodb_log_file_size": write_size(redo // 2), "innodb_log_files_in_group": 2}
    lines = translate_for({**log, "log_bin": False}, server)
    lines["innodb_buffer_pool_size"] = write_size(pool)
    lines |= {name: value for name, value in _SETTINGS.items() if name in options}
    return lines
