from __future__ import annotations

from cases import case

from flatwater.advise.rules.hot_drive import HotDrive
from flatwater.results.health import CellHealth, DriveHealth


def test_a_drive_that_slowed_itself_down() -> None:
    drive = DriveHealth(device="/dev/nvme0n1", throttle_events=3, temperature_c=84)
    told = HotDrive().advise(case(health=CellHealth(drives=[drive])))
    assert told is not None
    assert told.evidence == ("/dev/nvme0n1: 3 times, 84 degrees Celsius at the end",)


def test_silent_of_cool_drives_and_of_those_that_do_not_tell() -> None:
    for drive in (DriveHealth(device="/dev/sda", throttle_events=0), DriveHealth(device="/dev/sdb", temperature_c=70)):
        assert HotDrive().advise(case(health=CellHealth(drives=[drive]))) is None
    assert HotDrive().advise(case()) is None
