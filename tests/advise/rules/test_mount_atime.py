from __future__ import annotations

from cases import case, finding, on_storage, served

from flatwater.advise.rules.mount_atime import MountAtime


def test_a_mount_that_writes_each_access() -> None:
    told = MountAtime().advise(case(finding("CPU"), machine=on_storage(mount_options="rw,nosuid")))
    assert told is not None
    assert told.share == 0


def test_silent_of_relatime_of_noatime_and_of_the_unknown() -> None:
    for options in ("rw,relatime", "rw,noatime", "ro", ""):
        assert MountAtime().advise(case(finding("CPU"), machine=on_storage(mount_options=options))) is None
    assert MountAtime().advise(served(case(machine=on_storage(mount_options="rw")))) is None
