from __future__ import annotations

from typing import Any

import pytest

from flatwater.experiment.database.settings import name_fault, spell_all, spell_field, value_fault


@pytest.mark.parametrize(
    "name",
    [
        "innodb_doublewrite",
        "log_bin",
        "skip_name_resolve",
        "loose_innodb_dedicated_server",
        "innodb_log_write_ahead_size",
        "port_open_timeout",  # begins like one of flatwater's own
        "x" * 64,
    ],
)
def test_what_a_server_may_have(name: str) -> None:
    assert name_fault(name) is None


@pytest.mark.parametrize(
    "name",
    ["datadir", "loose_datadir", "skip_networking", "loose_skip_networking", "socket", "bind_address", "basedir"],
)
def test_what_flatwater_sets_itself_says_why(name: str) -> None:
    fault = name_fault(name)
    assert fault is not None and fault[0].startswith("is not the experiment's to set: ")


@pytest.mark.parametrize("name", ["", "9a", "_a", "Innodb_x", "a.b", "a b", "ä", "a" * 65])
def test_what_is_no_name(name: str) -> None:
    assert name_fault(name) is not None


@pytest.mark.parametrize("value", [0, -1, 2**64 - 1, 0.75, True, "24M", "", "ibdata1:12M:autoextend", "O_DIRECT"])
def test_what_a_setting_may_be(value: Any) -> None:
    assert value_fault(value) is None


@pytest.mark.parametrize("value", [None, [1], {"a": 1}, float("nan"), float("inf"), 2**64, "a\nb", "a\0b", "x" * 5000])
def test_what_it_may_not(value: Any) -> None:
    assert value_fault(value) is not None


def test_dashes_are_underscores_wherever_a_setting_is_named() -> None:
    assert spell_field("database.settings.innodb-io-capacity") == "database.settings.innodb_io_capacity"
    assert spell_field("sweep.database.settings.a-b") == "sweep.database.settings.a_b"
    assert spell_field("storage.some-thing") == "storage.some-thing"


def test_data_is_spelled_in_place_and_keeps_its_order() -> None:
    data = {
        "my-key": 1,
        "database": {"settings": {"a-b": 1, "c": 2}},
        "sweep": {
            "database.settings.d-e": [1],
            "workload.connections": [2],
            "database": {"settings": {"f-g": [3]}},
            "zip": [{"database.settings.h-i": [4]}],
        },
    }
    spell_all(data)
    assert list(data) == ["my-key", "database", "sweep"]
    assert list(data["database"]["settings"]) == ["a_b", "c"]  # type: ignore[index]
    assert list(data["sweep"])[:2] == ["database.settings.d_e", "workload.connections"]  # type: ignore[call-overload]
    assert data["sweep"]["database"]["settings"] == {"f_g": [3]}  # type: ignore[index]
    assert data["sweep"]["zip"] == [{"database.settings.h_i": [4]}]  # type: ignore[index]


def test_a_name_that_is_there_both_ways_is_left_for_the_validation() -> None:
    data = {"database": {"settings": {"a-b": 1, "a_b": 2}}}
    spell_all(data)
    assert data["database"]["settings"] == {"a-b": 1, "a_b": 2}
