"""Physical order of the modelled server: more memory, a faster device and less to write never cost throughput.

Every generation on a device of each kind. A change that loses is a defect of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from flatwater._engine import Run
from flatwater.engine_json import to_json
from flatwater.experiment import cell_at, load
from flatwater.experiment.database.innodb_settings import has
from flatwater.experiment.database.lineage import GENERATIONS
from flatwater.plan.innodb import write_innodb

#: A quarter of the data fits into the pool, and the redo log's limit is met.
POOL_MIB, REDO_MIB, CONNECTIONS = 128, 48, 16
#: What a seed decides is not the model's order: these are added.
SEEDS = (1, 2)
#: A loss within the noise of two runs is none.
NOISE = 0.97
_SETTINGS = "database.settings."


@dataclass(frozen=True)
class Storage:
    """A device, and the same one faster. In `warmup_s` an empty pool fills, and the log's limit is met."""

    device: Mapping[str, Any]
    faster: Mapping[str, Any]
    warmup_s: int = 90
    measured_s: int = 60


STORAGES = {
    "sata": Storage(
        {"kind": "ssd", "device": "intel-x25-m", "capacity_scale": 0.1, "occupied_pct": 75},
        {"controller.write_mib_per_s": 190, "timing.program_us": 450, "collector.relocation_mib_per_s": 190},
    ),
    "nvme": Storage(
        {"kind": "ssd", "device": "samsung-pm9a3-7680-tlc", "capacity_scale": 0.01, "occupied_pct": 75},
        {"timing.read_us": 30, "timing.program_us": 35},
        warmup_s=10,
        measured_s=10,
    ),
    "array": Storage(
        {"kind": "raid", "device": "raid10-8", "capacity_scale": 0.01},
        {"cache.size": "2GiB"},
    ),
}


def _changes(generation: str) -> Mapping[str, Mapping[str, Any]]:
    """The changes that cost nothing, as fields of the experiment."""
    files = 2 if has(generation, "innodb_log_files_in_group") else 1
    redo = lambda times: {f"{_SETTINGS}innodb_log_file_size": f"{REDO_MIB * times // files}M"}  # noqa: E731 (one line)
    pool = lambda times: {f"{_SETTINGS}innodb_buffer_pool_size": f"{POOL_MIB * times}M"}  # noqa: E731 (one line)
    return {
        "unchanged": {},
        "pool x 2": pool(2),
        "pool x 4": pool(4),
        "redo x 2": redo(2),
        "redo x 8": redo(8),
        "doublewrite off": {f"{_SETTINGS}innodb_doublewrite": False},
        "commits synced once a second": {f"{_SETTINGS}innodb_flush_log_at_trx_commit": 2},
        "commits written once a second": {f"{_SETTINGS}innodb_flush_log_at_trx_commit": 0},
    }


def _experiment(generation: str, storage: Storage, change: Mapping[str, Any], *, faster: bool) -> dict[str, Any]:
    own = {"innodb_io_capacity_max": 2000} if has(generation, "innodb_io_capacity_max") else {}
    if has(generation, "innodb_log_files_in_group"):
        own["innodb_log_files_in_group"] = 2
    content: dict[str, Any] = {
        "workload": {
            "kind": "tpcc",
            "warehouses": 5,
            "connections": CONNECTIONS,
            "warmup_s": storage.warmup_s,
            "duration_s": storage.measured_s,
        },
        "database": {
            "kind": "innodb-model",
            "generation": generation,
            "settings": {
                "innodb_buffer_pool_size": f"{POOL_MIB}M",
                "innodb_log_file_size": f"{REDO_MIB // own.get('innodb_log_files_in_group', 1)}M",
                "innodb_flush_log_at_trx_commit": 1,
                "innodb_doublewrite": True,
                "innodb_flush_method": "O_DIRECT",
                "innodb_io_capacity": 200,
                **own,
            },
        },
        "storage": {**storage.device, **({"parameters": _nested(storage.faster)} if faster else {})},
    }
    for field, value in change.items():
        content["database"]["settings"][field.removeprefix(_SETTINGS)] = value
    return content


def _nested(fields: Mapping[str, Any]) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    for field, value in fields.items():
        table, _, name = field.rpartition(".")
        tables.setdefault(table, {})[name] = value
    return tables


def _new_orders(content: Mapping[str, Any], folder: Path, seed: int) -> int:
    """New-Orders of the measured time."""
    warmup_s, measured_s = (content["workload"][name] for name in ("warmup_s", "duration_s"))
    file = folder / f"{id(content)}-{seed}.toml"
    file.write_text(tomli_w.dumps(content))
    run = Run.modelled_database(to_json(write_innodb(cell_at(load(file), 0).experiment, seed)))
    orders = 0
    for second in range(warmup_s + measured_s):
        interval = run.next_interval(600.0)
        assert interval is not None, run.failure()
        orders += interval["totals"].get("new_order", (0, 0, 0))[0] if second >= warmup_s else 0
    return orders


def ratios(generation: str, storage: Storage, folder: Path) -> dict[str, float]:
    """Of each change, throughput / that of the unchanged server."""
    contents = {
        name: _experiment(generation, storage, change, faster=False) for name, change in _changes(generation).items()
    }
    contents["a faster device"] = _experiment(generation, storage, {}, faster=True)
    count: Callable[[tuple[str, int]], int] = lambda one: _new_orders(contents[one[0]], folder, one[1])  # noqa: E731
    asked = [(name, seed) for name in contents for seed in SEEDS]
    with ThreadPoolExecutor(2) as pool:
        told = dict(zip(asked, pool.map(count, asked), strict=True))
    totals = {name: sum(told[name, seed] for seed in SEEDS) for name in contents}
    return {name: total / totals["unchanged"] for name, total in totals.items()}


@pytest.mark.slow
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("generation", GENERATIONS)
def test_what_helps_costs_nothing(generation: str, storage: str, tmp_path: Path) -> None:
    found = ratios(generation, STORAGES[storage], tmp_path)
    assert min(found.values()) >= NOISE, {name: round(ratio, 3) for name, ratio in found.items()}
