"""The plans of modelled devices."""

from __future__ import annotations

from flatwater.experiment import device
from flatwater.plan.device.device import WRITERS


def test_every_kind_of_device_has_its_plan() -> None:
    assert set(WRITERS) == set(device.KINDS.values()), "WRITERS of plan/device/device.py has one for each kind"
