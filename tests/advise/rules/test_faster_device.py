from __future__ import annotations

from cases import case, device, finding, on_storage, served

from flatwater.advise.rules.faster_device import FasterDevice

WAITS = finding("device latency", 0.75, "12 of 16 sessions were waiting")


def test_flash_instead_of_disks() -> None:
    told = FasterDevice().advise(case(WAITS, device=device(), machine=on_storage(rotational=True)))
    assert told is not None
    assert "flash" in told.change.text
    assert (told.confidence, told.change.kind) == ("high", "hardware")
    assert "at most 4 times" in told.evidence[-1]
    assert told.elsewhere == FasterDevice.elsewhere


def test_a_lower_latency_instead_of_flash_and_of_a_volume() -> None:
    told = FasterDevice().advise(case(WAITS, device=device(), machine=on_storage()))
    assert told is not None
    assert told.confidence == "medium"
    assert told.elsewhere is None, "what was published is about disks"
    told = FasterDevice().advise(case(WAITS, device=device("volume")))
    assert told is not None
    assert "volume class" in told.change.text


def test_silent_where_sessions_wait_for_something_else() -> None:
    assert FasterDevice().advise(case(finding("CPU"), device=device())) is None
    assert FasterDevice().advise(case(finding("CPU"), finding("device latency", 0.2), device=device())) is None
    assert FasterDevice().advise(served(case(WAITS, device=device()))) is None
