from __future__ import annotations

from typing import Any

import pytest

from flatwater.experiment.kinds import ANY
from flatwater.experiment.layers import read_layer
from flatwater.experiment.workload.tpcc import MAX_WAREHOUSES, Tpcc


def tpcc(**fields: Any) -> Tpcc:
    return Tpcc.model_validate(fields)


def test_the_defaults_are_tpcc_mysql_s() -> None:
    workload = tpcc()
    assert (workload.warehouses, workload.connections, workload.unit, workload.SCHEMA) == (10, 8, "NOTPM", "tpcc")
    assert (workload.pipeline, workload.keying_and_think, workload.check_consistency) == (False, False, True)
    assert Tpcc.units() == ("NOTPM", "tps")


@pytest.mark.parametrize("fields", [{"warehouses": MAX_WAREHOUSES}, {"connections": 10_000}, {"rate_per_s": 50.0}])
def test_what_goes_together(fields: dict[str, Any]) -> None:
    tpcc(**fields)


@pytest.mark.parametrize(
    ("fields", "place", "words"),
    [
        ({"warehouses": 0}, "warehouses", "at least"),
        ({"warehouses": MAX_WAREHOUSES + 1}, "warehouses", "at most"),
        ({"connections": 10_001}, "connections", "limit of 10,000"),
        ({"keying_and_think": True, "rate_per_s": 1}, "keying_and_think", "pace"),
        ({"steady_state": "snia", "rounds_max": 4}, "rounds_max", "too few"),
        ({"mode": "rndrd"}, "mode", "unknown field"),
    ],
)
def test_what_does_not(fields: dict[str, Any], place: str, words: str) -> None:
    (problem,) = read_layer("workload", {"kind": "tpcc", **fields}, ANY).problems
    assert problem.field == f"workload.{place}"
    assert words in f"{problem.what} {problem.hint}"
