"""Runs as a real server would leave them, made by the model: what is true of a changed stack is then known.

What the model does is recorded as a server's counters and a device's latencies; two hidden factors, that no counter has
in it, make its CPU time or its storage slower than what is recorded.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import tomli_w

from flatwater._engine import Run
from flatwater.engine_json import to_json
from flatwater.experiment import make_experiment
from flatwater.plan.device import Volume, slower
from flatwater.plan.innodb import Cpu, write_innodb
from flatwater.results import Event, Phase, create_result
from flatwater.results.schema import CellPlan, CellSummary, Manifest, ServerFacts

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from synthetic import write_rows

#: Not one of the seeds that a fit uses.
SEED = 4711
WARMUP_S, MEASURE_S = 5, 25
WORKLOAD = {"kind": "tpcc", "warehouses": 2, "connections": 8, "warmup_s": WARMUP_S, "duration_s": MEASURE_S}
SETTINGS: dict[str, Any] = {
    "innodb_buffer_pool_size": "96M",
    "innodb_log_file_size": "48M",
    "innodb_flush_log_at_trx_commit": 2,
    "innodb_io_capacity": 2000,
    "innodb_lru_scan_depth": 256,
}
CORES = 2
#: What the device is recorded to take.
READ_US, WRITE_US, FLUSH_US = 400.0, 500.0, 600.0
_DEVICE = {
    "capacity": "1TiB",
    "read_us": READ_US,
    "write_us": WRITE_US,
    "flush_us": FLUSH_US,
    "spread_pct": 0,
    "iops.baseline": 1e6,
    "iops.burst": 1e6,
    "throughput.baseline_mib_per_s": 1e5,
}


@dataclass(frozen=True)
class Hidden:
    """What no counter tells."""

    cpu: float = 1.0
    storage: float = 1.0


#: The same device with a limit that the run meets.
LIMITED = _DEVICE | {"iops.baseline": 1500, "iops.burst": 1500, "iops.credits": 0}


def intervals(
    hidden: Hidden, changed: dict[str, Any] | None = None, seed: int = SEED, device: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    """What the true stack does in each second, its settings changed; `device`: figures of its device."""
    experiment = make_experiment(
        {
            "workload": WORKLOAD,
            "database": {
                "kind": "innodb-model",
                "generation": "mariadb-10.11",
                "cores": CORES,
                "settings": SETTINGS | (changed or {}),
                "warm": False,
            },
            "storage": {"kind": "volume", "device": "ebs-gp2-100gib", "parameters": device or _DEVICE},
        }
    )
    plan = write_innodb(experiment, seed)
    assert isinstance(plan.device, Volume)
    cpu = Cpu(**{name: round(cost * hidden.cpu) for name, cost in asdict(plan.cpu).items()})
    plan = replace(plan, cpu=cpu, device=slower(plan.device, hidden.storage))
    run = Run.modelled_database(to_json(plan))
    found = []
    for _ in range(WARMUP_S + MEASURE_S):
        interval = run.next_interval(60.0)
        assert interval is not None, run.failure()
        found.append(interval)
    run.stop()
    return found


def throughput(told: list[dict[str, Any]]) -> float:
    """NOTPM of the measured phase."""
    return float(np.mean([one["totals"]["new_order"][0] for one in told[WARMUP_S:]]) * 60)


def recorded(
    path: Path,
    hidden: Hidden | None = None,
    variables: dict[str, str] | None = None,
    device: dict[str, Any] | None = None,
    database: dict[str, Any] | None = None,
    others: Mapping[str, tuple[float, float, float]] = MappingProxyType({}),
    load: dict[str, Any] | None = None,
    **more: Any,
) -> Path:
    """A result folder of the true stack, unchanged. `more` goes into the summary of its cell.

    `variables` are those that the server told of itself. `device`: the figures of an emulated device; None for a real
    one. `database`: more fields of the database; `others`: what the storages beside that of the data are recorded to
    take for a read, a write and a flush. `load`: the hosts that made the load, if it was not the server's machine.
    """
    hidden = hidden or Hidden()
    told = intervals(hidden, device=device)

    def series(name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([one["storage"][f"database.{name}"] for one in told])

    columns = {
        f"database.{name}": series(name)
        for name in ("read_requests_per_s", "pages_read_per_s", "pages_flushed_per_s", "log_bytes_per_s")
    }
    columns |= {
        "workload.new_order_ops_per_s": np.array([float(one["totals"]["new_order"][0]) for one in told]),
        "workload.ops_per_s": np.array([one["metrics"]["ops_per_s"] for one in told]),
        "workload.queries_per_s": np.array([float(one["counters"]["queries"]) for one in told]),
        # What is hidden is not counted as the server's.
        "database.server_cpu_user_pct": series("server_cpu_user_pct") / hidden.cpu,
        "database.server_cpu_system_pct": np.zeros(len(told)),
    }
    for kind, name, us in (("read", "data_read", READ_US), ("write", "data_written", WRITE_US)):
        bytes_per_s = series(f"{name}_bytes_per_s")
        columns[f"storage.{kind}_bytes_per_s"] = bytes_per_s
        columns[f"storage.{kind}_ops_per_s"] = bytes_per_s / 16384
        columns[f"storage.{kind}_await_us"] = np.full(len(told), us)
    columns["storage.flush_ops_per_s"] = series("data_fsyncs_per_s")
    columns["storage.flush_await_us"] = np.full(len(told), FLUSH_US)
    for other, (read_us, write_us, flush_us) in others.items():
        for kind, us in (("read", read_us), ("write", write_us), ("flush", flush_us)):
            columns[f"storage.{other}_{kind}_ops_per_s"] = np.full(len(told), 100.0)
            columns[f"storage.{other}_{kind}_bytes_per_s"] = np.full(len(told), 1e6)
            columns[f"storage.{other}_{kind}_await_us"] = np.full(len(told), us)
    rates = [one["totals"]["new_order"][0] * 60 for one in told[WARMUP_S:]]
    fields: dict[str, Any] = {
        "cell": 0,
        "seed": SEED,
        "status": "complete",
        "unit": "NOTPM",
        "mean": float(np.mean(rates)),
        "mean_ci95": 1.96 * float(np.std(rates, ddof=1)) / len(rates) ** 0.5,
        "servers": [ServerFacts(flavour="mariadb", version="10.11.19-MariaDB")],
        "phases": [
            Phase(name="warmup", start_s=0, end_s=WARMUP_S),
            Phase(name="measure", start_s=WARMUP_S, end_s=WARMUP_S + MEASURE_S),
        ],
    }
    summary = CellSummary(**(fields | more))
    _write(path, _asked(path, device, database or {}, load), summary, columns)
    if variables is not None:
        (path / "servers" / "0000").mkdir(parents=True)
        (path / "servers" / "0000" / "variables.json").write_text(json.dumps(variables))
    return path


def _asked(
    path: Path, device: dict[str, Any] | None, database: dict[str, Any], load: dict[str, Any] | None
) -> dict[str, Any]:
    """The experiment of a run; a server with a url has settings of its own."""
    own = {} if "url" in database else {"settings": SETTINGS}
    experiment: dict[str, Any] = {"workload": WORKLOAD, "database": {"kind": "server"} | own | database}
    if load is not None:
        experiment["load"] = load
    if device is not None:
        named = {"kind": "volume", "device": "ebs-gp2-100gib", "parameters": device, "size": "8GiB"}
        experiment["storage"] = named | {"real_time": True, "path": str(path), "file_system": "ext4"}
    return experiment


def crashed(path: Path) -> Path:
    """A run whose server died and was started again."""
    return recorded(path, events=[Event(time_s=12.0, kind="fault", text="the server died")], recoveries_s=[1.5])


def modelled(path: Path) -> Path:
    """A run of a modelled server."""
    experiment = {
        "workload": WORKLOAD,
        "database": {"kind": "innodb-model"},
        "storage": {"kind": "volume", "device": "ebs-gp2-100gib"},
    }
    summary = CellSummary(cell=0, seed=SEED, status="complete", unit="NOTPM", mean=1.0)
    _write(path, experiment, summary, {"workload.ops_per_s": np.ones(30)})
    return path


def _write(path: Path, experiment: dict[str, Any], summary: CellSummary, columns: dict[str, Any]) -> None:
    manifest = Manifest(
        name="made-by-the-model",
        flatwater_version="0.1.0",
        status="complete",
        created_at="2026-11-22T08:00:00+00:00",
        seed=SEED,
        cells=[CellPlan(index=0, repeat=0, set={}, seed=SEED)],
    )
    result = create_result(path, manifest, tomli_w.dumps(experiment), {"cores": CORES, "memory_bytes": 8 << 30})
    write_rows(result, iter([(0, columns)]))
    (path / "summary.json").write_text(json.dumps({"cells": [summary.model_dump(mode="json")]}))
