from __future__ import annotations

import psutil
import pytest

from flatwater.probe.memory import MemoryProbe


def test_bytes_of_this_machine() -> None:
    told = MemoryProbe().sample()
    assert set(told) == {f"machine.memory_{kind}_bytes" for kind in ("available", "cached", "dirty", "writeback")}
    total = psutil.virtual_memory().total
    assert all(0 <= value <= total for value in told.values())
    assert told["machine.memory_available_bytes"] == pytest.approx(psutil.virtual_memory().available, rel=0.1)
