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
