"""Modelled runs with one thing planted in each, and what a diagnosis must name first or second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flatwater.experiment import make_experiment
from flatwater.results import CellSummary, open_result
from flatwater.runner.executors import make_executor
from flatwater.runner.progress import SilentReporter
from flatwater.runner.sweep import run_experiment

Tables = dict[str, Any]


@dataclass(frozen=True)
class Plant:
    """A run, and the names of which one must be the first or the second."""

    tables: Tables
    names: frozenset[str]


def tpcc(settings: Mapping[str, Any], storage: Tables, **more: Any) -> Tables:
    """Four warehouses that fit the pool, on the modelled storage."""
    database = {
        "kind": "innodb-model",
        "generation": more.pop("generation", "mariadb-10.11"),
        "cores": more.pop("cores", 16),
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


def fileio(storage: Tables, **more: Any) -> Tables:
    """Random requests of 16 KiB."""
    workload = {"kind": "fileio", "mode": "rndrd", "engine": "io_uring", "warmup_s": 2, "duration_s": 12}
    return {"workload": {**workload, **more}, "storage": storage}


def device(name: str, kind: str = "ssd", **more: Any) -> Tables:
    return {"kind": kind, "device": name, **more}


CARD = device("virident-tachion-200-slc", capacity_scale=0.05, initial="fresh")
DISK = device("disk-7200", "hdd")
PART = device("disk-7200", "hdd", size="4GiB")
CACHED = {"kind": "flash", "size": "256MiB", "storage": device("intel-x25-e")}

PLANTS: dict[str, Plant] = {
    "small log, mariadb": Plant(tpcc({"innodb_log_file_size": "8M"}, CARD), frozenset({"log limit"})),
    "small log, 8.0": Plant(
        tpcc({"innodb_redo_log_capacity": "16M"}, CARD, generation="mysql-8.0"), frozenset({"log limit"})
    ),
    "small log, 5.5": Plant(
        tpcc({"innodb_log_file_size": "8M"}, CARD, generation="mysql-5.5"), frozenset({"log limit"})
    ),
    "slow disk": Plant(
        tpcc({"innodb_buffer_pool_size": "64M"}, DISK), frozenset({"device latency", "device throughput"})
    ),
    "tiny pool, 5.5": Plant(
        tpcc({"innodb_buffer_pool_size": "16M"}, CARD, generation="percona-5.5"),
        frozenset({"cache misses", "free pages"}),
    ),
    "dirty limit": Plant(tpcc({"innodb_max_dirty_pages_pct": 1}, CARD), frozenset({"dirty limit"})),
    "dirty limit, 5.5": Plant(
        tpcc({"innodb_max_dirty_pages_pct": 1}, CARD, generation="percona-5.5"), frozenset({"dirty limit"})
    ),
    "commits on a disk": Plant(tpcc({"innodb_flush_log_at_trx_commit": 1}, DISK), frozenset({"fsync path"})),
    "binary log, 5.5": Plant(
        tpcc({"innodb_flush_log_at_trx_commit": 1, "log_bin": 1, "sync_binlog": 1}, DISK, generation="mysql-5.5"),
        frozenset({"fsync path"}),
    ),
    "one core": Plant(tpcc({}, CARD, cores=1), frozenset({"CPU"})),
    "one connection": Plant(tpcc({}, CARD, connections=1), frozenset({"CPU"})),
    "mutexes": Plant(tpcc({}, CARD, connections=64, database={"cpu": {"mutex_us": 50}}), frozenset({"contention"})),
    "full card": Plant(
        fileio(device("intel-x25-m", capacity_scale=0.02), mode="rndwr", threads=8), frozenset({"garbage collection"})
    ),
    "deep queue on a disk": Plant(fileio(PART, queue_depth=32), frozenset({"device throughput"})),
    "one read at a time": Plant(fileio(device("intel-x25-e", size="1GiB")), frozenset({"device latency"})),
    "asked for little": Plant(
        fileio(device("intel-x25-e", size="1GiB"), rate_per_s=200, threads=4), frozenset({"rate asked"})
    ),
    "cache too small": Plant({**fileio(PART, threads=8), "cache": CACHED}, frozenset({"cache misses"})),
    "cache full of dirty blocks": Plant(
        {
            **fileio(PART, threads=8, mode="rndwr"),
            "cache": {**CACHED, "mode": "write-back", "dirty_high_pct": 10},
        },
        frozenset({"cache destaging"}),
    ),
    "credits used up": Plant(
        fileio(device("ebs-gp2-100gib", "volume", size="1GiB", parameters={"iops.credits": 0}), queue_depth=32),
        frozenset({"device throughput"}),
    ),
    "syncs on a disk": Plant(fileio(PART, mode="rndwr", fsync="every-write"), frozenset({"fsync path"})),
    "array without its battery": Plant(
        fileio(
            device("perc5-6x10k-raid5", "raid", size="1GiB", parameters={"controller.battery": False}), mode="rndwr"
        ),
        frozenset({"device latency"}),
    ),
    "appliance's link": Plant(
        fileio(device("violin-memory-appliance", "memory", size="1GiB"), threads=64), frozenset({"device throughput"})
    ),
}


#: Runs that nothing holds back but their own processors, or what was asked of them.
HEALTHY: dict[str, Tables] = {
    f"{generation}, {cores} cores, {connections} connections": tpcc(
        {"innodb_log_file_size": "4G" if generation == "mariadb-10.11" else "1G"}
        if generation != "mysql-8.0"
        else {"innodb_redo_log_capacity": "2G"},
        CARD,
        generation=generation,
        cores=cores,
        connections=connections,
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
} | {
    "reads at a pace": fileio(device("intel-x25-e", size="1GiB"), rate_per_s=500, threads=8),
    "reads and writes at random times": fileio(
        device("intel-x25-e", size="1GiB"), mode="rndrw", rate_per_s=300, threads=8, arrival="poisson"
    ),
}


def run_modelled(tables: Tables, out: Path) -> CellSummary:
    """The only cell of a modelled run."""
    experiment = make_experiment({"name": "planted", **tables})
    run_experiment(experiment, out, SilentReporter(), lambda *_: None, executor=make_executor("local", 1))
    summary = open_result(out).cells[0].summary
    assert summary is not None
    assert summary.bound is not None
    return summary
