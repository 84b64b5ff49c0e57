"""Tables are not changed where they are: each function gives new ones."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from flatwater.experiment.paths import path_of, split_open, swept_fields, with_values, without_field, without_swept

TABLES: dict[str, Any] = {
    "workload": {"mode": "rndrd", "rw_ratio": 2},
    "storage": {"parameters": {"timing": {"read_us": 30}}},
    "cache": {"storage": {"kind": "ssd"}},
}


@pytest.mark.parametrize(
    ("field", "table", "path"),
    [
        ("workload.threads", "", ["workload", "threads"]),
        ("database.settings.sync_binlog", "database.settings", ["database", "settings", "sync_binlog"]),
        ("storage.parameters.timing.read_us", "storage.parameters", ["storage", "parameters", "timing.read_us"]),
        (
            "cache.storage.parameters.x.y",
            "cache.storage.parameters",
            ["cache", "storage", "parameters", "x.y"],
        ),
    ],
)
def test_where_a_field_is(field: str, table: str, path: list[str]) -> None:
    assert (split_open(field)[0], path_of(field)) == (table, path)


def test_values_are_set_in_a_copy() -> None:
    before = copy.deepcopy(TABLES)
    changed = with_values(TABLES, {"workload.read_pct": 70, "cache.storage.device": "x", "record.interval_s": 2})
    assert before == TABLES
    # The percentage takes the place of the ratio.
    assert changed["workload"] == {"mode": "rndrd", "read_pct": 70}
    assert changed["cache"] == {"storage": {"kind": "ssd", "device": "x"}}
    assert changed["record"] == {"interval_s": 2}
    assert changed["storage"] is TABLES["storage"], "what no value is of is shared"


def test_a_parameter_replaces_one_that_is_written_as_a_table() -> None:
    changed = with_values(TABLES, {"storage.parameters.timing.read_us": 40})
    assert changed["storage"] == {"parameters": {"timing.read_us": 40}}


@pytest.mark.parametrize(
    ("sweep", "fields"),
    [
        ({"workload": {"threads": [1]}, "storage.fill": [1]}, {"workload.threads", "storage.fill"}),
        ({"zip": {"workload.threads": [1], "storage": {"fill": [1]}}}, {"workload.threads", "storage.fill"}),
        ({"zip": [{"workload.threads": [1]}, 3]}, {"workload.threads"}),
        (3, set()),
        (None, set()),
    ],
)
def test_a_swept_field_is_found_and_taken_out_however_it_is_written(sweep: Any, fields: set[str]) -> None:
    before = copy.deepcopy(sweep)
    assert swept_fields(sweep) == fields
    assert swept_fields(without_swept(sweep, "workload.threads")) == fields - {"workload.threads"}
    assert sweep == before


def test_a_field_is_taken_out_of_a_copy() -> None:
    assert without_field(TABLES, "workload.rw_ratio")["workload"] == {"mode": "rndrd"}
    assert without_field(TABLES, "workload.nothing") == TABLES
    assert without_field({"a.b": 1, "a": {"b": 2}}, "a.b") == {"a": {}}
