from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flatwater.experiment import iter_cells, load, to_toml
from flatwater.experiment.kinds import ANY
from flatwater.experiment.layers import read_layer
from flatwater.experiment.workload.tpcc import MAX_WAREHOUSES, Tpcc


def tpcc(**fields: Any) -> Tpcc:
    return Tpcc.model_validate(fields)


def test_the_defaults_are_tpcc_mysql_s() -> None:
    workload = tpcc()
    assert (workload.warehouses, workload.connections, workload.unit, workload.SCHEMA) == (10, 8, "NOTPM", "tpcc")
    assert (workload.pipeline, workload.keying_and_think, workload.check_consistency) == (False, False, True)
    assert workload.variant == "tpcc-mysql"
    assert Tpcc.units() == ("NOTPM", "tps", "NOPM", "tpm")


@pytest.mark.parametrize(
    "fields",
    [
        {"warehouses": MAX_WAREHOUSES},
        {"connections": 10_000},
        {"rate_per_s": 50.0},
        {"variant": "sysbench-tpcc", "table_sets": 10, "foreign_keys": False, "history_key": True, "unit": "tps"},
        {"variant": "tproc-c", "partitions": 2, "history_key": True, "all_warehouses": True, "unit": "NOPM"},
    ],
)
def test_what_goes_together(fields: dict[str, Any]) -> None:
    tpcc(**fields)


@pytest.mark.parametrize(
    ("fields", "place", "words"),
    [
        ({"warehouses": 0}, "warehouses", "at least"),
        ({"warehouses": MAX_WAREHOUSES + 1}, "warehouses", "at most"),
        ({"connections": 10_001}, "connections", "limit of 10,000"),
        ({"keying_and_think": True, "rate_per_s": 1}, "keying_and_think", "pace"),
        ({"terminals_per_warehouse": 10, "connections": 8}, "terminals_per_warehouse", "keep one"),
        ({"terminals_per_warehouse": 0}, "terminals_per_warehouse", "at least"),
        ({"keying_and_think": True, "warehouses": 1001}, "warehouses", "10,010 connections"),
        ({"steady_state": "snia", "rounds_max": 4}, "rounds_max", "too few"),
        ({"variant": "tpc-c"}, "variant", "sysbench-tpcc"),
        ({"table_sets": 2}, "table_sets", 'workload.variant = "sysbench-tpcc"'),
        ({"arrival": "poisson"}, "arrival", "rate_per_s"),
        ({"variant": "tproc-c", "foreign_keys": False}, "foreign_keys", 'the variant "tproc-c"'),
        ({"history_key": True}, "history_key", '"sysbench-tpcc" or "tproc-c"'),
        ({"variant": "sysbench-tpcc", "all_warehouses": True}, "all_warehouses", "tproc-c"),
        ({"variant": "sysbench-tpcc", "partitions": 2}, "partitions", "tproc-c"),
        ({"variant": "sysbench-tpcc", "pipeline": True}, "pipeline", "tpcc-mysql"),
        ({"unit": "NOPM"}, "unit", "HammerDB's way to count"),
        ({"variant": "sysbench-tpcc", "unit": "tpm"}, "unit", "HammerDB's way to count"),
        ({"variant": "tproc-c", "partitions": 1025}, "partitions", "at most"),
        ({"mode": "rndrd"}, "mode", "unknown field"),
    ],
)
def test_what_does_not(fields: dict[str, Any], place: str, words: str) -> None:
    (problem,) = read_layer("workload", {"kind": "tpcc", **fields}, ANY).problems
    assert problem.field == f"workload.{place}"
    assert words in f"{problem.what} {problem.hint}"


@pytest.mark.parametrize(
    ("fields", "connections"),
    [
        ({"keying_and_think": True, "warehouses": 3}, 30),
        ({"keying_and_think": True, "warehouses": 3, "connections": 7}, 7),
        ({"keying_and_think": True, "warehouses": 3, "terminals_per_warehouse": 2}, 6),
        ({"terminals_per_warehouse": 1, "warehouses": 3}, 3),
        ({"warehouses": 3}, 8),
    ],
)
def test_the_specifications_terminals(fields: dict[str, Any], connections: int) -> None:
    """Ten for each warehouse (TPC-C 5.11, clause 4.2.2)."""
    workload = tpcc(**fields)
    assert workload.connections == connections
    again = tpcc(**workload.model_dump())
    assert again.connections == connections
    # What was derived is derived anew: of another scale it would be another number.
    assert tpcc(**{**workload.model_dump(), "warehouses": 3}).connections == connections
    derived = "connections" not in fields and (fields.get("keying_and_think") or "terminals_per_warehouse" in fields)
    assert ("connections" in workload.model_dump()) == (not derived)


def test_a_sweep_of_warehouses_that_is_written_and_read_derives_its_terminals(tmp_path: Path) -> None:
    text = """
        [workload]
        kind = "tpcc"
        keying_and_think = true
        [database]
        kind = "server"
        [storage]
        kind = "file"
        path = "/somewhere"
        [sweep]
        "workload.warehouses" = [1, 3]
    """
    path = tmp_path / "terminals.toml"
    path.write_text(text)
    for _ in range(2):
        experiment = load(path)
        assert [cell.experiment.transactions.connections for cell in iter_cells(experiment)] == [10, 30]
        path.write_text(to_toml(experiment))
