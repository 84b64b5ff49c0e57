"""Runs in virtual time: one thing is wrong in each of FAULTS, and nothing in HEALTHY."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faults import Healthy, Planted, Tables, device, names


def tpcc(settings: Mapping[str, Any], storage: Tables, **more: Any) -> Tables:
    """Four warehouses that fit the pool, on the modelled storage."""
    database = {
        "kind": "innodb-model",
        "generation": more.pop("generation", "mariadb-10.11"),
        **({"machine": more.pop("machine")} if "machine" in more else {"cores": more.pop("cores", 16)}),
        "settings": {
            "innodb_buffer_pool_size": "1G",
            "innodb_log_file_size": "1G",
            "innodb_flush_log_at_trx_commit": 2,
            **settings,
        },
        **more.pop("database", {}),
    }
    workload = {"kind": "tpcc", "warehouses": 4, "connections": 8, "warmup_s": 5, "duration_s": 15}
    return {"workload": {**workload, **more}, "database": database, "storage": storage}


def large_tpcc(storage: Tables, settings: Mapping[str, Any] = {}, **more: Any) -> Tables:
    """Twenty warehouses on a server with two processors of 2010."""
    told = {
        "innodb_buffer_pool_size": "3G",
        "innodb_io_capacity": 2000,
        "innodb_flush_neighbors": 0,
        **settings,
    }
    load = {"warehouses": 20, "connections": 16, "warmup_s": 10, "duration_s": 30, **more}
    return tpcc(told, storage, machine="cisco-ucs-c250", generation="mysql-5.7", **load)


def fileio(storage: Tables, **more: Any) -> Tables:
    """Random requests of 16 KiB."""
    workload = {"kind": "fileio", "mode": "rndrd", "engine": "io_uring", "warmup_s": 2, "duration_s": 12}
    return {"workload": {**workload, **more}, "storage": storage}


def steady(storage: Tables, mode: str, **more: Any) -> Tables:
    """The same for longer, from sixteen threads."""
    return fileio(storage, mode=mode, **{"threads": 16, "warmup_s": 5, "duration_s": 40, **more})


CARD = device("virident-tachion-200-slc", capacity_scale=0.05, initial="fresh")
NVME = device("samsung-pm9a3-7680-tlc", capacity_scale=0.01)
CONSUMER = device("intel-x25-m", capacity_scale=0.1)
X25_E = device("intel-x25-e", size="1GiB")
DISK = device("disk-7200", "hdd")
PART = device("disk-7200", "hdd", size="4GiB")
ARRAY = device("raid10-8", "raid", capacity_scale=0.05)
RAID5 = device("perc5-6x10k-raid5", "raid", capacity_scale=0.05)
VOLUME = device("ebs-gp2-100gib", "volume")
NO_BATTERY = {"parameters": {"controller.battery": False}}
CACHED = {"kind": "flash", "size": "256MiB", "storage": device("intel-x25-e")}


def event(kind: str) -> Tables:
    """An array that does something for itself for 12 s."""
    return {**ARRAY, "events": [{"kind": kind, "at_s": 20, "duration_s": 12}]}


def failed(at_s: float, array: Tables = ARRAY) -> Tables:
    """An array that loses a member."""
    return {**array, "events": [{"kind": "fail", "at_s": at_s, "member": 0}]}


def cache(mode: str, size: str, high: int) -> Tables:
    """A warm cache on a card of its own."""
    card = device("fusion-io-iodrive-160-slc", capacity_scale=0.03)
    return {"kind": "flash", "mode": mode, "size": size, "dirty_high_pct": high, "warm": True, "storage": card}


_LOG, _SYNC = names("log limit"), names("fsync path")
_FULL, _WAIT = names("device throughput"), names("device latency")
_COMMIT = {"innodb_flush_log_at_trx_commit": 1}

FAULTS: tuple[Planted, ...] = (
    # The server's settings.
    Planted("small log, mariadb", tpcc({"innodb_log_file_size": "8M"}, CARD), _LOG, names("redo-size")),
    Planted(
        "small log, 8.0",
        tpcc({"innodb_redo_log_capacity": "16M"}, CARD, generation="mysql-8.0"),
        _LOG,
        names("redo-size"),
    ),
    Planted(
        "small log, 5.5", tpcc({"innodb_log_file_size": "8M"}, CARD, generation="mysql-5.5"), _LOG, names("redo-size")
    ),
    Planted(
        "tiny pool, 5.5",
        tpcc({"innodb_buffer_pool_size": "16M"}, CARD, generation="percona-5.5"),
        names("cache misses", "free pages"),
        names("buffer-pool"),
    ),
    # At full speed the log is at its limit, too, so a higher limit of dirty pages would not help.
    Planted("dirty limit", tpcc({"innodb_max_dirty_pages_pct": 1}, CARD), names("dirty limit")),
    Planted(
        "dirty limit, few sessions",
        tpcc({"innodb_max_dirty_pages_pct": 1}, CARD, connections=1),
        names("dirty limit"),
        names("dirty-limit"),
    ),
    Planted(
        "dirty limit, 5.5",
        tpcc({"innodb_max_dirty_pages_pct": 1}, CARD, generation="percona-5.5"),
        names("dirty limit"),
        names("dirty-limit"),
    ),
    # Commits.
    Planted("commits on a disk", tpcc(_COMMIT, DISK), _SYNC, names("commit-durability")),
    Planted(
        "binary log, 5.5",
        tpcc({**_COMMIT, "log_bin": 1, "sync_binlog": 1}, DISK, generation="mysql-5.5"),
        _SYNC,
        names("commit-durability", "binlog-sync"),
    ),
    Planted("a consumer SSD below the log", large_tpcc(CONSUMER, _COMMIT), _SYNC, names("power-loss-protection")),
    Planted("syncs on a disk", fileio(PART, mode="rndwr", fsync="every-write"), _SYNC),
    # Processors and locks.
    Planted("one core", tpcc({}, CARD, cores=1), names("CPU"), names("processor-bound")),
    Planted("one connection", tpcc({}, CARD, connections=1), names("CPU"), names("single-thread")),
    Planted("one session alone", large_tpcc(NVME, connections=1), names("CPU"), names("single-thread")),
    Planted("more sessions than processors", large_tpcc(NVME, connections=200), names("CPU"), names("processor-bound")),
    Planted(
        "hot rows", tpcc({}, CARD, warehouses=1, connections=64, cores=64), names("contention"), names("row-locks")
    ),
    Planted(
        "a hot row behind the binary log",
        tpcc({**_COMMIT, "log_bin": 1, "sync_binlog": 1}, DISK, warehouses=1, connections=64),
        names("contention"),
        # The lock is held through syncs on the disk of the data: a log of its own shortens each of them.
        names("row-locks", "commit-durability", "binlog-sync", "log-of-its-own"),
    ),
    Planted("mutexes", tpcc({}, CARD, connections=64, database={"cpu": {"mutex_us": 50}}), names("contention")),
    # Devices.
    Planted("slow disk", tpcc({"innodb_buffer_pool_size": "64M"}, DISK), _FULL | _WAIT),
    Planted(
        "disks below a small pool",
        large_tpcc(ARRAY, {"innodb_buffer_pool_size": "256M"}, connections=32),
        names("cache misses"),
        names("flash-cache"),
    ),
    Planted(
        "full card",
        fileio(device("intel-x25-m", capacity_scale=0.02), mode="rndwr", threads=8),
        names("garbage collection"),
        names("spare-space"),
    ),
    Planted(
        "a full SLC card",
        steady(device("virident-tachion-400-slc", capacity_scale=0.02), "rndwr"),
        names("garbage collection"),
        names("spare-space"),
    ),
    Planted("deep queue on a disk", fileio(PART, queue_depth=32), _FULL, names("more-devices")),
    Planted("more requests than a disk does", steady(DISK, "rndrd", threads=32), _FULL, names("more-devices")),
    Planted("one read at a time", fileio(X25_E), _WAIT, names("faster-device")),
    Planted("a volume that is far away", steady(VOLUME, "rndrd", threads=1), _WAIT, names("faster-device")),
    Planted("appliance's link", fileio(device("violin-memory-appliance", "memory", size="1GiB"), threads=64), _FULL),
    Planted(
        "credits used up",
        fileio(device("ebs-gp2-100gib", "volume", size="1GiB", parameters={"iops.credits": 0}), queue_depth=32),
        _FULL,
        names("volume-credits"),
    ),
    Planted(
        "a volume without credits",
        steady({**VOLUME, "parameters": {"iops.credits": 60000}}, "rndrd"),
        _FULL,
        names("volume-credits"),
    ),
    # Arrays.
    Planted(
        "RAID 5 without its battery",
        fileio(device("perc5-6x10k-raid5", "raid", size="1GiB", **NO_BATTERY), mode="rndwr"),
        _WAIT,
        names("array-battery"),
    ),
    Planted(
        "a controller without a battery",
        steady({**ARRAY, **NO_BATTERY}, "rndwr"),
        _FULL | _WAIT,
        names("array-battery"),
    ),
    Planted("the same below a database", large_tpcc({**ARRAY, **NO_BATTERY}, _COMMIT), _SYNC, names("array-battery")),
    Planted("a battery that relearns", steady(event("relearn"), "rndwr"), rules=names("battery-relearn")),
    Planted("a patrol read", steady(event("patrol"), "rndrd"), rules=names("patrol-read")),
    Planted("a consistency check", steady(event("check"), "rndrd"), rules=names("patrol-read")),
    Planted("a member that failed", steady(failed(1), "rndrd"), _FULL | _WAIT, names("degraded-array")),
    Planted("a member that fails", steady(failed(25), "rndrd"), _FULL | _WAIT, names("degraded-array")),
    Planted("RAID 5 that lost a disk", steady(failed(1, RAID5), "rndrw"), _FULL | _WAIT, names("degraded-array")),
    Planted(
        "a database on an array that lost a disk",
        large_tpcc(failed(1), {"innodb_buffer_pool_size": "256M"}, connections=32),
        names("cache misses", "device throughput"),
        names("degraded-array", "flash-cache"),
    ),
    # A volume that serves no more requests, with credits left.
    Planted("a volume's limit of requests", large_tpcc(VOLUME, {"innodb_buffer_pool_size": "256M"}), _FULL),
    Planted(
        "a full card below a database",
        tpcc(
            {"innodb_log_file_size": "64M", "innodb_io_capacity": 2000, "innodb_io_capacity_max": 4000},
            device("intel-x25-m", capacity_scale=0.0065),
            warehouses=8,
            warmup_s=10,
            duration_s=20,
        ),
        names("garbage collection"),
        names("spare-space"),
    ),
    # Parts on devices of their own.
    Planted(
        "a doublewrite buffer on a disk",
        large_tpcc(NVME, {"innodb_buffer_pool_size": "256M"}, database={"doublewrite_device": "disk-7200"}),
        names("free pages", "device throughput"),
        names("slow-part"),
    ),
    Planted(
        "a redo log on a disk",
        large_tpcc(NVME, _COMMIT, database={"log_device": "disk-7200"}),
        _SYNC,
        names("slow-part"),
    ),
    Planted(
        "the largest table on a disk",
        large_tpcc(NVME, {"innodb_buffer_pool_size": "256M"}, database={"tables": {"stock": "disk-7200"}}),
        _FULL,
        names("slow-part"),
    ),
    # The file system.
    Planted(
        "writes that wait for each other",
        steady({**ARRAY, "exclusive_writes": True}, "rndwr"),
        names("contention"),
        names("write-locks"),
    ),
    Planted(
        "writes that wait for each other among reads",
        steady({**X25_E, "exclusive_writes": True}, "rndrw", threads=32),
        names("contention", "device latency"),
        names("write-locks"),
    ),
    # Flash caches.
    Planted("cache too small", {**fileio(PART, threads=8), "cache": CACHED}, names("cache misses")),
    Planted(
        "a warm cache that is too small",
        {**steady({**ARRAY, "size": "8GiB"}, "rndrd"), "cache": cache("write-back", "512MiB", 80)},
        names("cache misses"),
        names("cache-size"),
    ),
    Planted(
        "cache full of dirty blocks",
        {
            **fileio(PART, threads=8, mode="rndwr"),
            "cache": {**CACHED, "mode": "write-back", "dirty_high_pct": 10},
        },
        names("cache destaging"),
        names("cache-dirty-marks"),
    ),
    Planted(
        "a low dirty mark",
        {**steady({**ARRAY, "size": "8GiB"}, "rndwr"), "cache": cache("write-back", "3GiB", 10)},
        names("cache destaging"),
        names("cache-dirty-marks"),
    ),
    Planted(
        "a cache that writes through",
        {**steady({**ARRAY, "size": "2GiB"}, "rndwr"), "cache": cache("write-through", "3GiB", 50)},
        rules=names("cache-mode"),
    ),
)

_CORES = names("CPU")
_TRIPS = names("client", "CPU")
#: What a run that its own processors bound may be advised.
_MORE_CORES = names("processor-bound", "single-thread")

HEALTHY: tuple[Healthy, ...] = (
    *(
        Healthy(
            f"{generation}, {cores} cores, {connections} connections",
            tpcc(
                {"innodb_redo_log_capacity": "2G"}
                if generation == "mysql-8.0"
                else {"innodb_log_file_size": "4G" if generation == "mariadb-10.11" else "1G"},
                CARD,
                generation=generation,
                cores=cores,
                connections=connections,
            ),
            # Several sessions on each of four warehouses do wait for its row.
            _CORES | (names("contention") if connections > 4 else _CORES),
            _MORE_CORES | (names("row-locks") if connections > 4 else _MORE_CORES),
        )
        for generation, cores, connections in (
            ("mariadb-10.11", 2, 8),
            ("mariadb-10.11", 8, 4),
            ("mysql-5.5", 2, 4),
            ("percona-5.5", 4, 4),
            ("mysql-5.6", 2, 8),
            ("mysql-5.7", 4, 4),
            ("mysql-8.0", 2, 2),
            ("mysql-8.0", 4, 16),
        )
    ),
    # Their sessions are on the way to the server and back for most of their time, and no device is to blame.
    Healthy("a machine with round trips, disks", large_tpcc(ARRAY, connections=8), _TRIPS, _MORE_CORES),
    Healthy("a machine with round trips, a card", large_tpcc(NVME, _COMMIT), _TRIPS),
    Healthy("a log buffer that is small and never full", large_tpcc(NVME, {"innodb_log_buffer_size": "256K"}), _TRIPS),
    Healthy("writes at a pace under a lock", fileio({**X25_E, "exclusive_writes": True}, mode="rndwr", rate_per_s=300)),
    Healthy(
        "an array that lost a member and is served",
        steady(failed(1), "rndrd", rate_per_s=100),
        rules=names("degraded-array"),
    ),
    Healthy("reads at a pace", fileio(X25_E, rate_per_s=500, threads=8)),
    Healthy(
        "reads and writes at random times", fileio(X25_E, mode="rndrw", rate_per_s=300, threads=8, arrival="poisson")
    ),
    Healthy("a rate that is served", steady(NVME, "rndrd", rate_per_s=2000)),
    Healthy("writes that are served", steady(NVME, "rndwr", rate_per_s=2000)),
    Healthy("reads and writes that are served", steady(NVME, "rndrw", rate_per_s=2000)),
    Healthy("disks that are served", steady(ARRAY, "rndrw", rate_per_s=200)),
    Healthy("a disk that is served", steady(DISK, "rndrd", rate_per_s=20)),
    Healthy("a volume that is served", steady(VOLUME, "rndrd", rate_per_s=100)),
    Healthy("a consumer drive that is served", steady(CONSUMER, "rndwr", rate_per_s=200), rules=names("drive-wear")),
    Healthy("an array without battery that is served", steady({**ARRAY, **NO_BATTERY}, "rndrd", rate_per_s=100)),
    Healthy("an array whose patrol read costs nothing", steady(event("patrol"), "rndrd", rate_per_s=100)),
    Healthy(
        "a cache that is served",
        {**steady({**ARRAY, "size": "1GiB"}, "rndrw", rate_per_s=500), "cache": cache("write-back", "2GiB", 50)},
    ),
)
