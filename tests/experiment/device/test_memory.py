"""An appliance's file: what the engine is given, and what cannot be."""

from __future__ import annotations

import pytest

from flatwater.errors import UserError
from flatwater.experiment.device import Use
from flatwater.experiment.device.load import load_device
from flatwater.plan.device import write_device


def test_the_engine_is_given_base_units() -> None:
    spec = write_device(load_device("violin-memory-appliance"), Use(scale=0.5))
    assert spec.capacity_bytes == 60 * 2**30
    assert spec.latency_ns == 50_000
    assert spec.read_bytes_per_s == 1220 * 2**20


@pytest.mark.parametrize("field", ["read_mib_per_s", "write_mib_per_s"])
def test_a_rate_of_nothing_is_refused(field: str) -> None:
    with pytest.raises(UserError) as caught:
        load_device("violin-memory-appliance", {field: 0})
    assert caught.value.where == f"storage.parameters.{field}"
    assert "more than 0" in caught.value.what
