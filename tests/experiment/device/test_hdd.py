"""A disk's file: its figures, what the engine is given, and what cannot be."""

from __future__ import annotations

import pytest

from flatwater.errors import UserError
from flatwater.experiment.device import HddDevice, Use
from flatwater.experiment.device.load import load_device
from flatwater.plan.device import write_device
from flatwater.plan.device.hdd import Seek


def test_the_engine_is_given_base_units() -> None:
    device = load_device("disk-10k")
    assert isinstance(device, HddDevice)
    spec = write_device(device, Use())
    assert spec.revolution_ns == 6_000_000
    assert spec.seek == Seek(track_to_track_ns=200_000, average_ns=4_000_000, full_stroke_ns=8_100_000)
    assert spec.outer_bytes_per_s == 65 * 2**20
    assert spec.write_cache_bytes == 0
    assert write_device(load_device("disk-7200"), Use()).write_cache_bytes == 16 * 2**20


def test_a_scaled_disk_is_whole_sectors() -> None:
    assert load_device("disk-10k").usable_bytes(Use(scale=0.0123, reserve=0.1)) % 512 == 0


@pytest.mark.parametrize(
    ("parameters", "field", "words"),
    [
        ({"outer_mib_per_s": 0}, "outer_mib_per_s", "more than 0"),
        ({"link_mib_per_s": 0}, "link_mib_per_s", "more than 0"),
        ({"rpm": 0}, "rpm", "more than 0"),
        ({"heads": 0}, "heads", "at least 1"),
        ({"seek.average_us": 9000}, "seek.average_us", "between"),
        ({"inner_mib_per_s": 70}, "inner_mib_per_s", "at most outer_mib_per_s"),
        ({"capacity": "1000B"}, "capacity", "sector"),
        ({"seek.averge_us": 1}, "seek.averge_us", "no such figure"),
    ],
)
def test_what_no_disk_can_have(parameters: dict[str, float | str], field: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        load_device("disk-10k", parameters)
    assert caught.value.where == f"storage.parameters.{field}"
    assert words in caught.value.what
