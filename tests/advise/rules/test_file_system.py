from __future__ import annotations

import pytest
from cases import case, finding, on_storage

from flatwater.advise.rules.file_system import FileSystem

SYNCS = finding("fsync path", 0.5, "a sync took 8 ms")


@pytest.mark.parametrize("kind", ["ext2", "ext3", "btrfs"])
def test_xfs_or_ext4_instead(kind: str) -> None:
    told = FileSystem().advise(case(SYNCS, machine=on_storage(file_system=kind)))
    assert told is not None
    assert kind in told.finding
    assert "XFS or ext4" in told.change.text


@pytest.mark.parametrize("kind", ["ext4", "xfs", "zfs", "nfs4"])
def test_silent_of_good_ones_and_of_those_that_are_not_known(kind: str) -> None:
    assert FileSystem().advise(case(SYNCS, machine=on_storage(file_system=kind))) is None


def test_silent_of_btrfs_without_copies_and_where_nobody_waits() -> None:
    plain = on_storage(file_system="btrfs", mount_options="rw,nodatacow")
    assert FileSystem().advise(case(SYNCS, machine=plain)) is None
    assert FileSystem().advise(case(finding("CPU"), machine=on_storage(file_system="ext3"))) is None
