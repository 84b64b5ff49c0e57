"""What all devices' files share: memories that may be off, and figures that the engine's clock cannot follow."""

from __future__ import annotations

import pytest

from flatwater.errors import UserError
from flatwater.experiment.device import Use
from flatwater.experiment.device.load import load_device
from flatwater.plan.device import write_device

CARD, DISK, ARRAY = "virident-tachion-400-slc", "disk-7200", "raid10-8"


@pytest.mark.parametrize(
    ("device", "field", "value", "words"),
    [
        (CARD, "timing.read_us", 1e16, "at most 1e9"),
        (CARD, "timing.erase_us", 1e300, "at most 1e9"),
        (CARD, "timing.channel_mib_per_s", 1e-300, "0.001 to 100000"),
        (CARD, "link.read_mib_per_s", 1e308, "0.001 to 100000"),
        (CARD, "collector.relocation_mib_per_s", 1e-12, "0.001 to 100000"),
        (DISK, "seek.full_stroke_us", 1e15, "at most 1e9"),
        (DISK, "age_limit_ms", 1e12, "at most 1e6"),
        (DISK, "rpm", 1e-9, "1 to 100000"),
        (ARRAY, "background.relearn_s", 1e12, "at most"),
        ("ebs-gp2-100gib", "iops.baseline", 1e-300, "0.001"),
        ("ebs-gp2-100gib", "throughput.baseline_mib_per_s", 1e12, "0.001 to 100000"),
    ],
)
def test_times_and_rates_beyond_the_clock_are_refused(device: str, field: str, value: float, words: str) -> None:
    with pytest.raises(UserError) as caught:
        load_device(device, {field: value})
    assert caught.value.where == f"storage.parameters.{field}"
    assert words in caught.value.what


def test_a_parameter_of_0_switches_a_memory_off() -> None:
    assert write_device(load_device(DISK), Use()).write_cache_bytes > 0
    assert write_device(load_device(DISK, {"cache.write_back": 0}), Use()).write_cache_bytes == 0
    assert write_device(load_device(CARD, {"buffer.size": 0}), Use()).buffer.bytes == 0
