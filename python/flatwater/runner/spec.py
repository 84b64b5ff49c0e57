"""An experiment's cell in the engine's words: the JSON that crates/real takes."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from flatwater.experiment import Experiment, Fileio
from flatwater.experiment.workload import Replay
from flatwater.runner.target import Target

#: Each verified run writes generations above those of all runs before: 16 bits of rewrites of one block a run.
GENERATIONS_PER_RUN = 1 << 16
#: Writers of a preparation: enough to fill the queue of any one device with 1 MiB requests.
PREPARE_THREADS = 8
#: A fault with no end outlasts every run.
FOREVER_S = 1e9


def derived_seed(seed: int, purpose: str) -> int:
    """A seed of its own for a part of a cell that must not repeat another's data and addresses."""
    return int.from_bytes(hashlib.sha256(f"flatwater:{seed}:{purpose}".encode()).digest()[:8], "big") >> 11


def fileio_spec(workload: Fileio, files: int, file_bytes: int, seed: int) -> dict[str, Any]:
    """The requests of a fileio workload, whatever they go to: `Fileio` of crates/core."""
    distributions: dict[str, dict[str, Any]] = {
        "uniform": {},
        "zipf": {"theta": workload.zipf_theta},
        "pareto": {"h": workload.pareto_h},
        "hotspot": {"access_pct": workload.hotspot_access_pct, "data_pct": workload.hotspot_data_pct},
    }
    return {
        "sequential": workload.mode.startswith("seq"),
        "read_pct": 100 * workload.read_fraction,
        "block_sizes": list(workload.block_sizes.items()),
        "files": files,
        "file_bytes": file_bytes,
        "fsync_every": workload.fsync_every,
        "fsync": workload.fsync,
        "distribution": {"kind": workload.distribution, **distributions[workload.distribution]},
        "limit_bytes": 0,
        "seed": seed,
        **({"replay": workload.replay_spec()} if isinstance(workload, Replay) else {}),
    }


def workload_spec(cell: Experiment, target: Target, seed: int) -> dict[str, Any]:
    """What `Run.fileio` takes for the measured workload."""
    workload = cell.fileio
    verify = None
    if workload.verify and target.prepared is not None:
        base = (target.prepared.runs * GENERATIONS_PER_RUN) % (1 << 30)
        verify = {"set_id": target.prepared.set_id, "generation_base": base}
    fault = cell.files.fault
    return {
        "workload": fileio_spec(workload, len(target.paths), target.file_bytes, seed),
        "paths": [str(path) for path in target.paths],
        "permit": target.permit.spec() if target.permit is not None else None,
        "threads": workload.threads,
        "queue_depth": workload.queue_depth,
        "engine": workload.engine,
        "direct": workload.direct,
        "sync": workload.sync,
        "fsync_call": workload.fsync_call,
        "rate_per_s": workload.rate_per_s,
        "poisson": workload.arrival == "poisson",
        "compressible_pct": workload.compressible_pct,
        "verify": verify,
        "drop_cache": False,
        "fault": fault.model_dump() | {"duration_s": fault.duration_s or FOREVER_S} if fault is not None else None,
        "continue_on_error": workload.on_error == "continue",
        "record": workload.record_latency,
        "interval_ms": round(cell.record.interval_s * 1000),
    }


def precondition_spec(cell: Experiment, target: Target, seed: int) -> dict[str, Any]:
    """SNIA's workload-independent preconditioning: sequential writes of several times the used size."""
    spec = workload_spec(cell, target, seed)
    return spec | precondition_changes(cell.fileio, spec["workload"]) | {"fault": None}


def precondition_changes(workload: Fileio, requests: dict[str, Any]) -> dict[str, Any]:
    """What is other in a preconditioning than in the workload, whose requests are given."""
    # Verified blocks are written whole, so that they keep their headers.
    block = requests["block_sizes"][0][0] if workload.verify else workload.precondition_block_size
    block = min(block, requests["file_bytes"])
    used_bytes = requests["file_bytes"] * requests["files"]
    changed = {
        "sequential": True,
        "read_pct": 0.0,
        "block_sizes": [(block, 100.0)],
        "fsync_every": 0,
        "fsync": "none",
        "limit_bytes": max(block, int(used_bytes * workload.precondition_passes)),
        **({"replay": None} if "replay" in requests else {}),
    }
    # Fast on any device: the point is that it is written, not how.
    depth = 32 if workload.engine == "io_uring" else 1
    return {
        "workload": requests | changed,
        "threads": 1 if depth > 1 else 4,
        "queue_depth": depth,
        "rate_per_s": 0.0,
    }


def drain_spec(spec: dict[str, Any]) -> dict[str, Any]:
    """One request, and what the workload does at its end: for a measurement whose own end was cut short."""
    return spec | {"workload": spec["workload"] | {"limit_bytes": 1}, "threads": 1, "queue_depth": 1, "rate_per_s": 0.0}


def read_back_spec(spec: dict[str, Any]) -> dict[str, Any]:
    """Reading every block once, to check what the run wrote."""
    workload = spec["workload"]
    block = workload["block_sizes"][0][0]
    limit = workload["file_bytes"] // block * block * workload["files"]
    changed = {"sequential": True, "read_pct": 100.0, "fsync_every": 0, "fsync": "none", "limit_bytes": limit}
    # What the page cache holds would prove nothing about the storage.
    return spec | {"workload": workload | changed, "rate_per_s": 0.0, "fault": None, "drop_cache": True}


def prepare_spec(cell: Experiment, target: Target, seed: int, done_bytes: int, *, direct: bool) -> str:
    """What `Prepare` takes."""
    assert target.prepared is not None and target.permit is not None
    return json.dumps(
        {
            "paths": [str(path) for path in target.paths],
            "permit": target.permit.spec(),
            "file_bytes": target.file_bytes,
            "done_bytes": done_bytes,
            "threads": PREPARE_THREADS,
            "direct": direct,
            "device": target.kind == "device",
            "compressible_pct": cell.fileio.compressible_pct,
            "stamp_bytes": target.prepared.stamp_bytes,
            "set_id": target.prepared.set_id,
            "seed": seed,
        }
    )
