"""An array's file: its members, what the engine is given, and what cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from flatwater.errors import UserError
from flatwater.experiment.device import ArrayEvent, RaidDevice, Use
from flatwater.experiment.device.load import load_device
from flatwater.plan.device import write_device
from flatwater.plan.device.raid import Event


def array(**parameters: Any) -> RaidDevice:
    device = load_device("perc5-6x10k-raid5", parameters)
    assert isinstance(device, RaidDevice)
    return device


def test_the_engine_is_given_the_members_and_the_events() -> None:
    event = ArrayEvent(kind="fail", at_s=5, member=1)
    spec = write_device(array(), Use(align_bytes=16384, events=(event,)))
    assert (spec.level, spec.members, spec.unit_bytes) == (5, 6, 65536)
    assert spec.device.kind == "hdd"
    assert spec.device.write_settle_ns == 200_000, "a figure of the member is another one in this array"
    assert spec.events == (Event("fail", 5 * 10**9, member=1),)
    assert spec.controller.parity_after_data is True
    assert spec.cache.destage_rows is False


@pytest.mark.parametrize(("align", "line"), [(512, 1024), (4096, 4096), (16384, 16384), (2**20, 16384), (12288, 4096)])
def test_lines_are_as_large_as_requests_allow(align: int, line: int) -> None:
    spec = write_device(array(), Use(align_bytes=align))
    assert spec.line_bytes <= line
    assert align % spec.line_bytes == 0
    assert spec.cache.block_bytes // spec.line_bytes <= 64


def test_a_scaled_array_scales_its_members_and_its_memory() -> None:
    whole, small = write_device(array(), Use()), write_device(array(), Use(scale=0.01))
    assert small.device.capacity_bytes == pytest.approx(whole.device.capacity_bytes / 100, rel=1e-6)
    assert small.cache.bytes == whole.cache.bytes // 100
    assert small.capacity_bytes <= 5 * small.device.capacity_bytes
    assert array().usable_bytes(Use(reserve=0.5)) == whole.capacity_bytes // 2


def test_members_may_be_cards() -> None:
    device = load_device("raid10-8", {"device": "intel-x25-m", "members": 4, "capacity": "319GB"})
    spec = write_device(device, Use(life_used=0.5))
    assert spec.device.kind == "ssd"


@pytest.mark.parametrize(
    ("parameters", "field", "words"),
    [
        ({"members": 2}, "members", "at least 3"),
        ({"level": 10, "members": 5}, "members", "an even number"),
        ({"capacity": "400GB"}, "capacity", "what the members give"),
        ({"capacity": "100GB"}, "capacity", "what the members give"),
        ({"stripe_unit": 0}, "stripe_unit", "more than 0"),
        ({"device": "disk-9k"}, "device", "no device"),
        ({"device": "raid10-8"}, "device", "arrays themselves"),
        ({"controller.link_mib_per_s": 0}, "controller.link_mib_per_s", "more than 0"),
        ({"background.patrol_pct": 0}, "background.patrol_pct", "more than 0"),
        ({"cache.size": "64KiB"}, "cache.size", "16 blocks"),
        ({"cache.block": "48KiB"}, "cache.block", "divide"),
    ],
)
def test_what_no_array_can_have(parameters: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        array(**parameters)
    assert caught.value.where == f"storage.parameters.{field}"
    assert words in caught.value.what


def test_an_unknown_member_suggests_the_nearest() -> None:
    with pytest.raises(UserError) as caught:
        array(device="disk-10")
    assert "disk-10k" in (caught.value.hint or "")
