"""What each field of fileio means on several hosts: fields with a value that works, and those that are refused."""

from __future__ import annotations

from typing import Any

MIB = 2**20
BASE: dict[str, dict[str, Any]] = {
    "workload": {"kind": "fileio", "mode": "rndrw", "threads": 3, "direct": False, "duration_s": 0.3},
    "storage": {"size": 8 * MIB, "path": "/srv/shared"},
    "record": {"interval_s": 0.1},
}
_URING = {"workload.engine": "io_uring"}

#: Each runs on two hosts.
WORKS: list[dict[str, Any]] = [
    {"workload.mode": "rndrd"},
    {"workload.mode": "rndwr"},
    {"workload.mode": "rndrw", "workload.read_pct": 30.0},
    {"workload.rw_ratio": 2.0},
    {"workload.block_size": 4096},
    {"workload.block_size": {"4096": 70, "16384": 30}},
    {"workload.files": 4},
    {"workload.threads": 2},
    {**_URING, "workload.queue_depth": 8},
    {"workload.direct": True},
    {"workload.sync": "sync"},
    {"workload.sync": "dsync"},
    {"workload.fsync_every": 10},
    {"workload.fsync": "end"},
    {"workload.fsync": "every-write", "workload.fsync_call": "fdatasync"},
    {"workload.distribution": "zipf", "workload.zipf_theta": 0.8},
    {"workload.distribution": "pareto", "workload.pareto_h": 0.3},
    {"workload.distribution": "hotspot", "workload.hotspot_access_pct": 90.0, "workload.hotspot_data_pct": 10.0},
    {"workload.compressible_pct": 50.0},
    {"workload.mode": "rndrd", "workload.verify": True},
    {"workload.precondition_passes": 1.0, "workload.precondition_block_size": 65536},
    {"workload.unit": "MiB/s"},
    {"workload.record_latency": False},
    {"workload.rate_per_s": 200.0, "workload.arrival": "fixed"},
    {"workload.rate_per_s": 200.0, "workload.arrival": "poisson"},
    {"workload.duration_s": 0.5, "workload.warmup_s": 0.2},
    {"workload.steady_state": "snia", "workload.round_s": 0.2, "workload.rounds_max": 5},
    {"workload.on_error": "continue"},
    {"storage.size": 4 * MIB},
    {"storage.fill": 0.5},
    {"storage.keep": False},
    {"storage.overwrite": True},
    {"storage.purge": True},
    {"storage.path": "/srv/shared"},
]

#: What hosts cannot do, and a part of the reason.
REFUSED: list[tuple[dict[str, Any], str]] = [
    *(({"workload.mode": mode}, "one position") for mode in ("seqrd", "seqwr", "seqrewr", "seqrw")),
    ({"workload.threads": 1}, "1 threads are too few for 2 hosts"),
    ({"workload.verify": True}, "known only on the host that wrote it"),
    ({"storage.fault": {"kind": "stall", "after_ops": 10}}, "each host would count its own"),
    (
        {"cache.kind": "flash", "cache.size": 4 * MIB, "cache.storage": {"path": "/srv/cache"}},
        "the cache is served on this machine",
    ),
]


def _named(layer: str) -> set[str]:
    tables = [*WORKS, *(fields for fields, _ in REFUSED)]
    return {field.partition(".")[2] for fields in tables for field in fields if field.startswith(f"{layer}.")}


#: The fields of each layer that are in one of the tables.
WORKLOAD = _named("workload")
STORAGE = _named("storage")
