"""Hostile and broken JSON: nothing of it raises but what is to be raised, and no figure comes of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flatwater.health.disks import Disk
from flatwater.health.smartctl import read_output
from flatwater.health.storcli import read_output as read_controllers
from flatwater.health.untrusted import TEXT_MAX, UnreadableError, Untrusted, one_line, parse_json

NVME = {"device": {"protocol": "NVMe"}, "nvme_smart_health_information_log": {"percentage_used": 5}}


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (5, 5.0),
        (5.5, 5.5),
        ("5", 5.0),
        ("1,234", 1234.0),
        (" 90250.878 ", 90250.878),
        (0, 0.0),
        (-1, None),
        ("-1", None),
        (float("nan"), None),
        (float("inf"), None),
        (1e300, None),
        (10**400, None),
        ("9" * 400, None),
        ("0x10", None),
        ("1e5", None),
        ("", None),
        (True, None),
        (None, None),
        ([5], None),
        ({"value": 5}, None),
    ],
)
def test_what_is_a_number(value: object, number: float | None) -> None:
    assert Untrusted(value).number == number


def test_what_is_whole() -> None:
    assert Untrusted(2**64 + 1).whole == 2**64 + 1
    assert [Untrusted(value).whole for value in (1.5, -3, "x", True, 2**200, float("nan"))] == [None] * 6


def test_ways_that_lead_nowhere() -> None:
    told = Untrusted({"a": [1, {"b": 2}]})
    assert told.at("a", 1, "b").number == 2
    for way in (("a", 7), ("a", "b"), ("c", "d", 0), (0,), ("a", -9)):
        assert told.at(*way).value is None


def test_text_cannot_act_on_a_terminal() -> None:
    text = Untrusted("evil\x1b[2J\r\nSECOND \u202eline\x00").text
    assert "\x1b" not in text and "\n" not in text and "\u202e" not in text
    assert len(Untrusted("x" * 10_000).text) == TEXT_MAX
    assert one_line("a\n\tb") == "a b"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"  \n",
        b"{",
        b"[1,2",
        b"smartctl 6.6 UNRECOGNIZED OPTION: j",
        b"\x00\xff\xfe",
        b'{"a": 1} trailing',
        b"nul",
    ],
)
def test_broken_json_is_told(data: bytes) -> None:
    with pytest.raises(UnreadableError):
        parse_json(data)


def test_deep_nesting_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(UnreadableError, match="nested 100000 deep"):
        parse_json(b"[" * 100_000 + b"]" * 100_000)
    with pytest.raises(UnreadableError):
        parse_json(b'{"a":' * 65 + b"1" + b"}" * 65)
    assert parse_json(b'{"a":' * 64 + b"1" + b"}" * 64).entries()
    # Brackets in a text are no nesting.
    assert parse_json(json.dumps({"a": "[" * 1000}).encode()).at("a").text


def test_not_a_number_is_nothing() -> None:
    told = parse_json(b'{"a": NaN, "b": Infinity, "c": -Infinity}')
    assert [told.at(name).number for name in "abc"] == [None] * 3


def test_a_name_that_is_there_twice_with_two_values_says_nothing() -> None:
    told = parse_json(b'{"used": 5, "used": 90, "same": 1, "same": 1}')
    assert told.at("used").value is None
    assert told.at("same").number == 1


@pytest.mark.parametrize(
    "output",
    [
        [],
        "text",
        {"device": []},
        {"device": {"protocol": "NVMe"}, "nvme_smart_health_information_log": [1]},
        {"device": {"protocol": "ATA"}, "ata_smart_attributes": {"table": {"a": 1}}},
        {"device": {"protocol": "ATA"}, "ata_smart_attributes": {"table": [1, None, [], {"name": 5, "id": "x"}]}},
        {"device": {"protocol": "SCSI"}, "scsi_error_counter_log": {"write": {"gigabytes_processed": "many"}}},
        NVME | {"smartctl": {"exit_status": "0"}},
        NVME | {"user_capacity": {"bytes": -5}, "model_name": {"a": 1}, "serial_number": 17},
    ],
)
def test_smartctls_json_in_any_wrong_shape(output: object) -> None:
    reading, why = read_output(Untrusted(output), Disk("sda"), 0.0)
    assert reading is not None or why


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = st.sampled_from(
    ["temperature", "smart_status", "nvme_smart_health_information_log", "ata_smart_attributes", "user_capacity",
     "scsi_error_counter_log", "power_on_time", "ata_device_statistics", "endurance_used", "smartctl"]
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.too_slow])  # other work on the machine
@given(st.sampled_from(["ATA", "SCSI", "NVMe"]), st.dictionaries(_FIELDS, _JSON))
def test_no_json_makes_the_readers_fail(protocol: str, fields: dict[str, object]) -> None:
    reading, why = read_output(Untrusted(fields | {"device": {"protocol": protocol}}), Disk("sda"), 0.0)
    assert reading is not None or why


@settings(suppress_health_check=[HealthCheck.too_slow])  # other work on the machine
@given(_JSON)
def test_no_json_makes_the_reader_of_controllers_fail(value: object) -> None:
    read_controllers(Untrusted({"Controllers": [{"Response Data": {"BBU_Info": value, "Scheduled Tasks": value}}]}))
