from __future__ import annotations

from typing import Any

import pytest

from flatwater.experiment.database.option_line import LINE_BYTES_MAX
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
    assert value_fault("a_setting", value) is None


@pytest.mark.parametrize("value", [None, [1], {"a": 1}, float("nan"), float("inf"), 2**64, "a\nb", "a\0b", "x" * 5000])
def test_what_it_may_not(value: Any) -> None:
    assert value_fault("a_setting", value) is not None


#: What a server takes for a file outside its data directory, in each way of writing one.
ELSEWHERE = (
    "/tmp/x",
    "../x",
    "a/../../x",
    "..",
    "~",
    "~/x",
    " ~ ",
    "~root",
    "x:12M;/dev/sdb:3Gnewraw",
    "d:t:o,/tmp/trace",
)


@pytest.mark.parametrize("value", ELSEWHERE)
@pytest.mark.parametrize("name", ["audit_log_file", "loose_audit_log_file", "a_setting_of_tomorrow", "log_bin"])
def test_no_setting_names_a_place_outside_the_servers_folder(name: str, value: str) -> None:
    fault = value_fault(name, value)
    assert fault is not None and fault[0].startswith("may name a place outside the server's folder")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("default_time_zone", "Europe/Berlin"),
        ("loose_ssl_ca", "/etc/ssl/ca.pem"),
        ("init_connect", "SET @half = 1/2"),
        ("innodb_doublewrite_file", "ib_doublewrite"),
        ("innodb_temp_data_file_path", "ibtmp1:12M:autoextend:max:1G"),
        ("log_output", "FILE"),
        ("optimizer_switch", "mrr=on,mrr_cost_based=off"),
    ],
)
def test_what_is_only_read_or_is_no_file_stands(name: str, value: str) -> None:
    assert value_fault(name, value) is None


@pytest.mark.parametrize("letter", ["x", "é", "\\", '"', "€"])
def test_a_value_is_no_longer_than_a_server_reads_at_once(letter: str) -> None:
    bytes_each = len(letter.encode()) + (letter in '"\\')
    longest = (LINE_BYTES_MAX - len('init_connect = ""\n')) // bytes_each
    assert value_fault("init_connect", letter * longest) is None
    for more in (10, 100, 5000):
        fault = value_fault("init_connect", letter * (longest + more))
        assert fault is not None and f"{LINE_BYTES_MAX:,} bytes" in fault[0] and len(fault[0]) < 200


def test_a_long_value_that_would_bring_a_setting_of_its_own_is_told_at_the_check() -> None:
    assert value_fault("default_time_zone", "é" * 2037 + "plugin_dir=/srv/u/x") is not None


def test_dashes_are_underscores_wherever_a_setting_is_named() -> None:
    assert spell_field("database.settings.innodb-io-capacity") == "database.settings.innodb_io_capacity"
    assert spell_field("sweep.database.settings.a-b") == "sweep.database.settings.a_b"
    assert spell_field("storage.some-thing") == "storage.some-thing"
