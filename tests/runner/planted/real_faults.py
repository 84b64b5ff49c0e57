"""Real runs: one thing is wrong in each of FAULTS, and nothing in HEALTHY.

Servers are MariaDB. They stand on storage of this machine, or on an emulated device that is served in real time. Runs
of the same rows on the same storage share what was loaded once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from faults import Healthy, Planted, Tables, emulated, names

_SETTINGS: dict[str, Any] = {
    "innodb_buffer_pool_size": "256M",
    "innodb_log_file_size": "512M",
    "innodb_flush_log_at_trx_commit": 2,
    "innodb_flush_method": "O_DIRECT",
}
#: Ten intervals of a second are what a diagnosis takes.
_TIMES = {"warmup_s": 2, "duration_s": 13}
_COMMIT = {"innodb_flush_log_at_trx_commit": 1}


def server(workload: Tables, storage: Tables | None = None, **settings: Any) -> Tables:
    """A server that nothing is wrong with, but what the settings say; on storage of this machine if none is named."""
    tables = {"workload": workload, "database": {"kind": "server", "settings": _SETTINGS | settings}}
    return {**tables, "storage": {**storage, "file_system": "ext4"}} if storage is not None else tables


def tpcc(**more: Any) -> Tables:
    """One warehouse: some 100 MB."""
    return {"kind": "tpcc", "warehouses": 1, "connections": 4, "check_consistency": False, **_TIMES, **more}


def oltp(mode: str = "write_only", **more: Any) -> Tables:
    """200,000 rows: some 50 MB. Sessions do not meet at the same row."""
    return {"kind": "oltp", "mode": mode, "tables": 2, "rows": 100_000, "connections": 8, **_TIMES, **more}


def fileio(mode: str, storage: Tables, **more: Any) -> Tables:
    """Random requests of 16 KiB from eight threads."""
    load = {"kind": "fileio", "mode": mode, "block_size": "16KiB", "threads": 8, "files": 1, "engine": "io_uring"}
    return {"workload": {**load, **_TIMES, **more}, "storage": storage}


#: A card whose writes end in a cache with capacitors.
CARD = emulated("fusion-io-iodrive-160-slc", capacity_scale=0.03, initial="fresh")
#: Drives without: a sync programs cells.
SATA, QLC = (
    emulated("intel-x25-m", capacity_scale=0.03, initial="fresh"),
    emulated("intel-670p-2000-qlc", capacity_scale=0.003, initial="fresh"),
)
DISK = emulated("disk-7200", "hdd", size="4GiB")
ARRAY = emulated("raid10-8", "raid", size="1GiB")
NO_BATTERY = emulated("perc5-6x10k-raid5", "raid", size="4GiB", parameters={"controller.battery": False})
SPENT = emulated("ebs-gp2-100gib", "volume", size="4GiB", parameters={"iops.credits": 1000})


def cached(**cache: Any) -> Tables:
    """A cache of flash in front of a disk, both emulated."""
    fast = emulated("fusion-io-iodrive-160-slc", capacity_scale=0.01, initial="fresh")
    return {"cache": {"kind": "flash", "storage": fast, **cache}}


_SYNC = names("fsync path")
#: Both put the log on storage whose cache survives a power failure; the second also says what it costs without.
_SAFE_LOG = names("log-of-its-own", "commit-durability")

FAULTS: tuple[Planted, ...] = (
    # The server's settings.
    Planted("a small log", server(tpcc(), innodb_log_file_size="8M"), names("log limit"), names("redo-size")),
    Planted(
        "a low limit of dirty pages",
        server(tpcc(), innodb_max_dirty_pages_pct=1),
        names("dirty limit"),
        names("dirty-limit", "io-capacity-low"),
    ),
    Planted(
        "a pool that is too small, on a card",
        server(oltp("read_only"), CARD, innodb_buffer_pool_size="12M"),
        names("cache misses"),
        names("buffer-pool"),
    ),
    Planted(
        "a pool that is too small, on a disk",
        server(oltp("read_only"), DISK, innodb_buffer_pool_size="12M"),
        names("cache misses"),
        names("buffer-pool"),
    ),
    Planted(
        "an io_capacity that is too low",
        server(
            oltp(connections=16),
            CARD,
            innodb_log_file_size="16M",
            innodb_io_capacity=100,
            innodb_io_capacity_max=100,
        ),
        names("log limit"),
        names("io-capacity-low"),
    ),
    # Commits.
    Planted(
        "commits on a SATA drive without capacitors",
        server(oltp(), SATA, **_COMMIT),
        _SYNC,
        names("power-loss-protection"),
    ),
    Planted(
        "commits on a QLC drive without capacitors",
        server(oltp(), QLC, **_COMMIT),
        _SYNC,
        names("power-loss-protection"),
    ),
    Planted(
        "a binary log that is synced at each commit",
        server(oltp(), SATA, log_bin="binlog", sync_binlog=1),
        _SYNC,
        names("binlog-sync"),
    ),
    Planted("commits on a disk", server(oltp(), DISK, **_COMMIT), _SYNC, _SAFE_LOG),
    Planted("an array without its battery", server(oltp(), NO_BATTERY, **_COMMIT), _SYNC, names("array-battery")),
    Planted(
        "a rate that is too high for the disk below the log",
        server(oltp(rate_per_s=1000), DISK, **_COMMIT),
        _SYNC,
        _SAFE_LOG,
    ),
    # The workload.
    Planted("rows that everybody updates", server(tpcc(connections=48)), names("contention"), names("row-locks")),
    Planted(
        "far more connections than processors",
        server(oltp("point_select", connections=64), CARD),
        names("CPU"),
        names("thread-pool", "processor-bound"),
    ),
    Planted(
        "a client that does not keep up",
        fileio("rndrd", {"size": "256MiB"}, threads=2),
        names("client"),
        names("saturated-client"),
        ground="memory",
    ),
    # What runs beside it.
    Planted("programs beside it", server(tpcc()), names("neighbour"), names("noisy-neighbour"), beside="burners"),
    Planted(
        "a copy on the same device",
        server(oltp(), **_COMMIT),
        names("neighbour"),
        names("noisy-neighbour"),
        beside="copier",
    ),
    # Devices.
    Planted(
        "a volume without credits",
        server(oltp("read_write"), SPENT, innodb_buffer_pool_size="12M"),
        names("device throughput"),
        names("volume-credits"),
    ),
    Planted(
        "a full drive",
        fileio("rndwr", emulated("intel-x25-m", capacity_scale=0.004)),
        names("garbage collection"),
        names("spare-space"),
    ),
    Planted(
        "a battery that relearns",
        fileio("rndwr", {**ARRAY, "events": [{"kind": "relearn", "at_s": 8, "duration_s": 60}]}),
        rules=names("battery-relearn"),
    ),
    Planted(
        "a cache that is too small",
        {**fileio("rndrd", {**DISK, "size": "1GiB"}, warmup_s=10), **cached(size="32MiB")},
        names("cache misses"),
        names("cache-size"),
    ),
    Planted(
        "a cache with a low dirty mark",
        {
            **fileio("rndwr", {**DISK, "size": "1GiB"}),
            **cached(size="512MiB", mode="write-back", dirty_high_pct=5, dirty_low_pct=2),
        },
        names("cache destaging"),
        names("cache-dirty-marks"),
    ),
    # The host.
    Planted("data in the journal", server(oltp(), **_COMMIT), rules=names("data-journal"), ground="journalled"),
    Planted("a scheduler for desktops", server(oltp(), **_COMMIT), rules=names("io-scheduler"), ground="fair"),
    Planted("a file system without a journal", server(oltp(), **_COMMIT), rules=names("file-system"), ground="ext2"),
)

#: What-if takes twenty measured seconds, in windows of five.
_LONG = {"warmup_s": 5, "duration_s": 25}
_NAMED = {one.name: one for one in FAULTS}


def _long(name: str) -> Planted:
    """A server with a fault, for as long as a prediction takes."""
    planted = _NAMED[name]
    return replace(planted, tables={**planted.tables, "workload": planted.tables["workload"] | _LONG})


#: Faults whose first advice has figures: each promised change is made, and measured (test_real_promises.py).
PROMISING: tuple[Planted, ...] = (
    _long("a small log"),
    _long("a low limit of dirty pages"),
    _long("an io_capacity that is too low"),
    Planted(
        "a pool that holds a third, on a card",
        server(oltp("read_only", rows=250_000, **_LONG), CARD, innodb_buffer_pool_size="48M"),
        rules=names("buffer-pool"),
    ),
    _NAMED["a full drive"],
    _NAMED["a cache that is too small"],
    Planted(
        "a volume that has spent its credits",
        fileio("rndrd", emulated("ebs-gp2-100gib", "volume", size="1GiB", parameters={"iops.credits": 0})),
        rules=names("volume-credits"),
    ),
    Planted("a RAID 5 without its battery", fileio("rndwr", NO_BATTERY), rules=names("array-battery")),
)

#: On what a run spends its time that nothing holds back: this machine's processors.
_CORES = names("CPU", "client")
_MORE_CORES = names("processor-bound", "single-thread", "saturated-client")

HEALTHY: tuple[Healthy, ...] = (
    Healthy("transactions at a pace", server(tpcc(rate_per_s=5))),
    Healthy("commits at a pace, on a card", server(oltp(rate_per_s=30), CARD, **_COMMIT)),
    Healthy("reads at a pace, on a disk", server(oltp("read_only", rate_per_s=20), DISK)),
    # Each commit writes a page of the file system: 50 GB a day, and the maker allows 15 TB.
    Healthy(
        "commits at a pace, on a drive without capacitors",
        server(oltp(rate_per_s=20), SATA, **_COMMIT),
        rules=names("drive-wear"),
    ),
    Healthy("a pool that holds everything", server(oltp("read_only", connections=4), CARD), _CORES, _MORE_CORES),
    Healthy("an array that is served", fileio("rndrw", ARRAY, rate_per_s=100)),
    Healthy(
        "a cache that is served",
        {**fileio("rndrw", {**DISK, "size": "256MiB"}, rate_per_s=20), **cached(size="512MiB", mode="write-back")},
    ),
)
