from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from flatwater.experiment.kinds import ANY
from flatwater.experiment.layers import read_layer
from flatwater.experiment.workload.oltp import MAX_ROWS, Oltp


def oltp(**fields: Any) -> Oltp:
    return Oltp.model_validate({"mode": "read_write", **fields})


def test_the_defaults_are_sysbench_s() -> None:
    workload = oltp()
    assert (workload.tables, workload.rows, workload.range_size, workload.SCHEMA) == (1, 10_000, 100, "sbtest")
    assert (workload.distribution, workload.spec_iter, workload.spec_pct, workload.spec_res) == ("special", 12, 1, 75)
    assert (workload.pareto_h, workload.zipfian_exp) == (0.2, 0.8)
    assert (workload.point_selects, workload.simple_ranges, workload.sum_ranges) == (10, 1, 1)
    assert (workload.order_ranges, workload.distinct_ranges) == (1, 1)
    assert (workload.index_updates, workload.non_index_updates, workload.delete_inserts) == (1, 1, 1)
    assert (workload.range_selects, workload.skip_trx, workload.prepared) == (True, False, True)
    assert (workload.auto_inc, workload.secondary, workload.unit) == (True, False, "tps")
    assert Oltp.units() == ("tps", "qps")


@pytest.mark.parametrize("mode", ["read_only", "oltp_read_only", "oltp_read_only.lua"])
def test_sysbench_s_scripts_are_understood(mode: str) -> None:
    assert oltp(mode=mode).mode == "read_only"


def test_a_mode_must_be_given() -> None:
    with pytest.raises(ValidationError, match="mode"):
        Oltp.model_validate({})


@pytest.mark.parametrize(
    "fields",
    [
        {"rows": MAX_ROWS},
        {"mode": "insert", "point_selects": 0, "index_updates": 0},
        {"mode": "point_select", "point_selects": 0},
        {"mode": "read_only", "range_selects": False},
        {"mode": "write_only", "point_selects": 0, "range_selects": False},
        {"point_selects": 0, "range_selects": False, "index_updates": 0, "non_index_updates": 0},
    ],
)
def test_what_goes_together(fields: dict[str, Any]) -> None:
    oltp(**fields)


@pytest.mark.parametrize(
    ("fields", "place", "words"),
    [
        ({"mode": "read_only", "range_selects": False, "point_selects": 0}, "point_selects", "no statements"),
        (
            {"mode": "write_only", "index_updates": 0, "non_index_updates": 0, "delete_inserts": 0},
            "index_updates",
            "no",
        ),
        ({"rows": MAX_ROWS + 1}, "rows", "at most"),
        ({"distribution": "zipf"}, "distribution", "zipfian"),
        ({"mode": "seqwr"}, "mode", "read_only"),
    ],
)
def test_what_does_not(fields: dict[str, Any], place: str, words: str) -> None:
    (problem,) = read_layer("workload", {"kind": "oltp", "mode": "read_write", **fields}, ANY).problems
    assert problem.field == f"workload.{place}"
    assert words in f"{problem.what} {problem.hint}"
