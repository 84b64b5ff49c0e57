from __future__ import annotations

from typing import Any

import pytest

from flatwater.experiment.database.settings import name_fault, spell_field, value_fault


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
