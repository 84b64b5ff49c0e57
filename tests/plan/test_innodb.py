"""The plan of a modelled InnoDB."""

from __future__ import annotations

from typing import Any

import pytest

from flatwater.experiment import make_experiment
from flatwater.experiment.database import innodb
from flatwater.plan.innodb import write_innodb


def flushing(**database: Any) -> str | None:
    tables = {
        "workload": {"kind": "tpcc", "warehouses": 1},
        "database": {"kind": "innodb-model"} | database,
        "storage": {"kind": "memory", "device": "violin-memory-appliance"},
    }
    return write_innodb(make_experiment(tables), 1).flushing


@pytest.mark.parametrize("policy", innodb.POLICIES)
def test_a_policy_that_an_experiment_names_is_the_engines(policy: str) -> None:
    told = flushing(flushing=policy)
    assert told is not None and told.replace("_", "-") == policy


def test_the_generations_policy_and_a_users_replace_nothing() -> None:
    assert flushing() is None
    assert flushing(flushing="mine.py:Mine") is None


@pytest.mark.parametrize(
    ("generation", "storage", "neighbours"),
    [
        ("mariadb-10.11", {"kind": "ssd", "device": "intel-x25-m"}, 0),
        ("mariadb-11", {"kind": "ssd", "device": "intel-x25-m"}, 0),
        ("mariadb-10.11", {"kind": "hdd", "device": "disk-15k"}, 1),
        ("mariadb-10.11", {"kind": "raid", "device": "raid10-8"}, 1),
        ("mysql-5.7", {"kind": "ssd", "device": "intel-x25-m"}, 1),
    ],
)
def test_mariadb_writes_neighbours_on_disks_only(generation: str, storage: dict[str, str], neighbours: int) -> None:
    tables = {
        "workload": {"kind": "tpcc", "warehouses": 1},
        "database": {
            "kind": "innodb-model",
            "generation": generation,
            "settings": {"innodb_buffer_pool_size": "64M", "innodb_flush_neighbors": 1},
        },
        "storage": storage,
    }
    assert write_innodb(make_experiment(tables), 1).settings.innodb_flush_neighbors == neighbours
