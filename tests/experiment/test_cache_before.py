"""A cache in front of one of the other storages: what is refused, and what the engine is told."""

from __future__ import annotations

from typing import Any

import pytest

from flatwater.experiment import Experiment, make_experiment
from flatwater.experiment.validation import validate
from flatwater.plan.device import Cached
from flatwater.plan.innodb import write_innodb

MODEL = {"kind": "ssd", "device": "samsung-pm9a3-7680-tlc", "capacity_scale": 0.001}
DISK = {"kind": "hdd", "device": "disk-15k"}
FILES = {"path": "/slow", "size": "1GiB"}
EMULATED = {**DISK, "real_time": True, "path": "/slow", "size": "1GiB"}


def tables(storage: dict[str, Any], cache: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A server with a table on a storage `slow`, and a cache in front of that."""
    modelled = "kind" in storage and not storage.get("real_time")
    fast = MODEL if modelled else {"path": "/fast"}
    database = {
        "kind": "innodb-model" if modelled else "server",
        "storages": {"slow": storage},
        "placement": {"tables": {"sbtest1": "slow"}},
    }
    if modelled:
        database["generation"] = "mysql-5.7"
    return {
        "workload": {"kind": "oltp", "mode": "read_write"},
        "database": database | more,
        "cache": {"kind": "flash", "before": "slow", "size": "64MiB", "storage": fast} | (cache or {}),
        "storage": {**MODEL} if modelled else {"path": "/data"},
    }


def problems(written: dict[str, Any]) -> list[str]:
    _, found = validate({"name": "x", **written}, overridden=False)
    return [f"{one.field}: {one.what}" for one in found]


def made(written: dict[str, Any]) -> Experiment:
    return make_experiment(written)


@pytest.mark.parametrize("storage", [FILES, EMULATED, DISK], ids=str)
def test_it_is_in_front_of_that_storage_only(storage: dict[str, Any]) -> None:
    cell = made(tables(storage))
    assert cell.flash_cache is None
    assert cell.cache_before("slow") is cell.any_cache is not None
    assert cell.cache_before("storage") is None and cell.cache_before("other") is None
    assert cell.layers["cache"] == ("modelled" if storage is DISK else "real")
    assert "in front of slow" in cell.any_cache.text


def test_the_model_has_it_there() -> None:
    plan = write_innodb(made(tables(DISK)), seed=1)
    (slow,) = plan.others
    assert isinstance(slow.device, Cached) and slow.device.fast_bytes == 64 << 20
    assert not isinstance(plan.device, Cached)
    (plain,) = write_innodb(made(tables(DISK, {"enabled": False})), seed=1).others
    assert plain.device == slow.device.slow


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (tables(DISK, {"before": "slwo"}), "cache.before: there is no storage"),
        (tables(FILES, {"before": "slwo"}), "cache.before: there is no storage"),
        (tables(FILES, placement={}), "cache.before: nothing is placed on slow"),
        (tables({"path": "/slow"}), "database.storages.slow.size: is missing"),
        (tables(DISK, {"warm": True}), "cache.warm: has no meaning in front of slow"),
        (tables(FILES, {"storage": MODEL}), "cache.storage: the cache's device is in virtual time"),
        (tables(DISK, {"storage": {"path": "/fast"}}), "cache.storage: the storage is in virtual time"),
        (tables(DISK, {"deny_processes": [4711]}), "cache.deny_processes: has no meaning in virtual time"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_refused(written: dict[str, Any], told: str) -> None:
    assert any(problem.startswith(told) for problem in problems(written)), problems(written)


def test_a_length_without_a_cache() -> None:
    written = tables(FILES)
    del written["cache"]
    assert any(told.startswith("database.storages.slow.size: has no meaning there") for told in problems(written))


def test_a_sweep_moves_it() -> None:
    """Each cell has it in front of one storage; both have their lengths."""
    written = tables(FILES) | {"sweep": {"cache.before": ["storage", "slow"]}}
    written["storage"] = {"path": "/data", "size": "2GiB"}
    assert problems(written) == []


def test_without_a_database_there_is_no_other_storage() -> None:
    written = {
        "workload": {"mode": "rndrd"},
        "cache": {"kind": "flash", "before": "slow", "size": "64MiB", "storage": MODEL},
        "storage": {**MODEL},
    }
    assert any(problem.startswith("cache.before: there is no storage") for problem in problems(written))
