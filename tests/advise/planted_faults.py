"""Faults that are planted into modelled experiments: what is wrong, and the rule that must find it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Planted:
    """An experiment with a fault."""

    #: What is wrong, in a word or two.
    name: str
    #: The rule that must speak first or second; empty of a healthy run.
    rule: str
    text: str


_TPCC = """
[workload]
kind = "tpcc"
warehouses = 20
connections = {connections}
warmup_s = 10
duration_s = {duration_s}
[database]
kind = "innodb-model"
machine = "cisco-ucs-c250"
generation = "mysql-5.7"
[database.settings]
innodb_buffer_pool_size = "{pool}"
innodb_log_file_size = "1G"
innodb_io_capacity = 2000
innodb_flush_neighbors = 0
innodb_flush_log_at_trx_commit = {commit}
"""


def _tpcc(storage: str, *, pool: str = "3G", commit: int = 2, connections: int = 16, duration_s: int = 30) -> str:
    return _TPCC.format(pool=pool, commit=commit, connections=connections, duration_s=duration_s) + storage


def _fileio(mode: str, storage: str, *, threads: int = 16, duration_s: int = 40, more: str = "") -> str:
    load = f'[workload]\nkind = "fileio"\nmode = "{mode}"\nblock_size = "16KiB"\nthreads = {threads}\n'
    return f"{load}warmup_s = 5\nduration_s = {duration_s}\n{more}\n{storage}"


_NVME = """
[storage]
kind = "ssd"
device = "samsung-pm9a3-7680-tlc"
capacity_scale = 0.01
"""
_CONSUMER = """
[storage]
kind = "ssd"
device = "intel-x25-m"
capacity_scale = 0.1
"""
_ARRAY = """
[storage]
kind = "raid"
device = "raid10-8"
capacity_scale = 0.05
"""
_CACHE = """
[cache]
kind = "flash"
mode = "{mode}"
size = "{size}"
dirty_high_pct = {high}
warm = true
[cache.storage]
kind = "ssd"
device = "fusion-io-iodrive-160-slc"
capacity_scale = 0.03
"""

FAULTS = (
    Planted("a consumer SSD below the log", "power-loss-protection", _tpcc(_CONSUMER, commit=1)),
    Planted(
        "a controller without a battery",
        "array-battery",
        _fileio("rndwr", _ARRAY + '[storage.parameters]\n"controller.battery" = false\n'),
    ),
    Planted(
        "the same below a database",
        "array-battery",
        _tpcc(_ARRAY + '[storage.parameters]\n"controller.battery" = false\n', commit=1),
    ),
    Planted(
        "a battery that relearns",
        "battery-relearn",
        _fileio("rndwr", _ARRAY + 'events = [{ kind = "relearn", at_s = 20, duration_s = 12 }]\n'),
    ),
    Planted(
        "a patrol read",
        "patrol-read",
        _fileio("rndrd", _ARRAY + 'events = [{ kind = "patrol", at_s = 20, duration_s = 12 }]\n'),
    ),
    Planted(
        "a consistency check",
        "patrol-read",
        _fileio("rndrd", _ARRAY + 'events = [{ kind = "check", at_s = 20, duration_s = 12 }]\n'),
    ),
    Planted(
        "a volume without credits",
        "volume-credits",
        _fileio(
            "rndrd",
            '[storage]\nkind = "volume"\ndevice = "ebs-gp2-100gib"\n[storage.parameters]\n"iops.credits" = 60000\n',
        ),
    ),
    Planted(
        "a full card",
        "spare-space",
        _fileio("rndwr", '[storage]\nkind = "ssd"\ndevice = "virident-tachion-400-slc"\ncapacity_scale = 0.02\n'),
    ),
    Planted(
        "a full consumer drive",
        "spare-space",
        _fileio("rndwr", '[storage]\nkind = "ssd"\ndevice = "intel-x25-m"\ncapacity_scale = 0.02\n'),
    ),
    Planted(
        "a cache that is too small",
        "cache-size",
        _fileio("rndrd", _CACHE.format(mode="write-back", size="512MiB", high=80) + _ARRAY + 'size = "8GiB"\n'),
    ),
    Planted(
        "a low dirty mark",
        "cache-dirty-marks",
        _fileio("rndwr", _CACHE.format(mode="write-back", size="3GiB", high=10) + _ARRAY + 'size = "8GiB"\n'),
    ),
    Planted(
        "a cache that writes through",
        "cache-mode",
        _fileio("rndwr", _CACHE.format(mode="write-through", size="3GiB", high=50) + _ARRAY + 'size = "2GiB"\n'),
    ),
    Planted("disks below a small pool", "flash-cache", _tpcc(_ARRAY, pool="256M", connections=32)),
    Planted(
        "a card that is far away",
        "faster-device",
        _fileio("rndrd", '[storage]\nkind = "volume"\ndevice = "ebs-gp2-100gib"\n', threads=1),
    ),
    Planted(
        "more requests than a disk does",
        "more-devices",
        _fileio("rndrd", '[storage]\nkind = "hdd"\ndevice = "disk-7200"\n', threads=32),
    ),
    Planted("one session alone", "single-thread", _tpcc(_NVME, connections=1)),
    Planted("more sessions than processors", "processor-bound", _tpcc(_NVME, connections=200)),
)

HEALTHY = (
    Planted("a rate that is served", "", _fileio("rndrd", _NVME, more="rate_per_s = 2000")),
    Planted("writes that are served", "", _fileio("rndwr", _NVME, more="rate_per_s = 2000")),
    Planted("disks that are served", "", _fileio("rndrw", _ARRAY, more="rate_per_s = 200")),
    Planted(
        "a volume that is served",
        "",
        _fileio("rndrd", '[storage]\nkind = "volume"\ndevice = "ebs-gp2-100gib"\n', more="rate_per_s = 100"),
    ),
    Planted("a consumer drive that is served", "", _fileio("rndwr", _CONSUMER, more="rate_per_s = 200")),
    Planted(
        "an array without battery that is served",
        "",
        _fileio("rndrd", _ARRAY + '[storage.parameters]\n"controller.battery" = false\n', more="rate_per_s = 100"),
    ),
    Planted(
        "an array whose patrol read costs nothing",
        "",
        _fileio(
            "rndrd", _ARRAY + 'events = [{ kind = "patrol", at_s = 20, duration_s = 12 }]\n', more="rate_per_s = 100"
        ),
    ),
    Planted("reads and writes that are served", "", _fileio("rndrw", _NVME, more="rate_per_s = 2000")),
    Planted(
        "a disk that is served",
        "",
        _fileio("rndrd", '[storage]\nkind = "hdd"\ndevice = "disk-7200"\n', more="rate_per_s = 20"),
    ),
    Planted(
        "a cache that is served",
        "",
        _fileio(
            "rndrw",
            _CACHE.format(mode="write-back", size="2GiB", high=50) + _ARRAY + 'size = "1GiB"\n',
            more="rate_per_s = 500",
        ),
    ),
)
