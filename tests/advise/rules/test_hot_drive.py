from __future__ import annotations

from cases import case, device

from flatwater.advise.rules.hot_drive import HotDrive
from flatwater.results.health import CellHealth, DriveHealth


def test_a_drive_that_slowed_itself_down() -> None:
    drive = DriveHealth(device="/dev/nvme0n1", throttle_events=3, temperature_c=84)
    told = HotDrive().advise(case(health=CellHealth(drives=[drive])))
    assert told is not None
    assert told.evidence == ("/dev/nvme0n1: slowed itself down 3 times, 84 degrees Celsius at the end",)


def test_silent_of_cool_drives_and_of_those_that_do_not_tell() -> None:
    for drive in (DriveHealth(device="/dev/sda", throttle_events=0), DriveHealth(device="/dev/sdb", temperature_c=70)):
        assert HotDrive().advise(case(health=CellHealth(drives=[drive]))) is None
    assert HotDrive().advise(case()) is None


def test_a_drive_at_its_warning_temperature_may_have_slowed_down() -> None:
    drive = DriveHealth(device="/dev/nvme0n1", hot_minutes=4, temperature_c=71, temperature_warning_c=70)
    told = HotDrive().advise(case(health=CellHealth(drives=[drive]), device=device(temperature_c=[60, 73])))
    assert told is not None
    assert told.confidence == "medium"
    assert told.evidence == (
        "/dev/nvme0n1: at its warning temperature or above for 4 min, 71 degrees Celsius at the end (it warns from 70)",
        "the warmest drive had up to 73 degrees Celsius",
    )
