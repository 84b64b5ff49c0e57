"""A volume's file: what the engine is given, and what cannot be."""

from __future__ import annotations

import pytest

from flatwater.errors import UserError
from flatwater.experiment.device import Use
from flatwater.experiment.device.load import load_device
from flatwater.plan.device import write_device
from flatwater.plan.device.volume import Limit


def test_the_engine_is_given_base_units() -> None:
    spec = write_device(load_device("ebs-gp2-100gib"), Use())
    assert spec.requests == Limit(baseline_per_s=300, burst_per_s=3000, credits_max=5.4e6, credits=5.4e6)
    rate = 128 * 2**20
    assert spec.bytes == Limit(baseline_per_s=rate, burst_per_s=rate, credits_max=0, credits=0)
    assert spec.spread == 0.25


@pytest.mark.parametrize(
    ("parameters", "field", "words"),
    [
        ({"iops.baseline": 0}, "iops.baseline", "more than 0"),
        ({"throughput.baseline_mib_per_s": 0}, "throughput.baseline_mib_per_s", "more than 0"),
        ({"iops.burst": 100}, "iops.burst", "at least the baseline"),
        ({"throughput.burst_mib_per_s": 1}, "throughput.burst_mib_per_s", "at least the baseline"),
        ({"spread_pct": 500}, "spread_pct", "at most 200"),
    ],
)
def test_what_no_volume_can_have(parameters: dict[str, float], field: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        load_device("ebs-gp2-100gib", parameters)
    assert caught.value.where == f"storage.parameters.{field}"
    assert words in caught.value.what
