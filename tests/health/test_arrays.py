"""Arrays of each kind, from recorded folders and outputs."""

from __future__ import annotations

from pathlib import Path

import pytest
from recordings import Lab

from flatwater.health.arrays import find_arrays
from flatwater.health.arrays.zfs import read_status
from flatwater.health.disks import Disk


@pytest.fixture
def disks(machine_lab: Lab) -> Lab:
    for number, name in enumerate(("sda", "sdb", "sdc", "sdd")):
        machine_lab.disk(name, number=f"8:{16 * number}")
    return machine_lab


def device(lab: Lab, name: str, number: str, *below: str, **files: str) -> Path:
    folder = lab.disk(name, number=number, **files)
    (folder / "slaves").mkdir()
    for one in below:
        (folder / "slaves" / one).symlink_to(lab.root / "sys/devices" / one)
    return folder


def names(found: tuple[Disk, ...]) -> list[str]:
    return [disk.name for disk in found]


def test_md(disks: Lab) -> None:
    device(
        disks,
        "md0",
        "9:0",
        "sda",
        "sdb",
        md__level="raid1\n",
        md__degraded="1",
        md__sync_action="check",
        md__sync_completed="500 / 2000",
    )
    (array,) = find_arrays(disks.machine)
    assert (array.name, array.kind, array.level, array.redundant) == ("/dev/md0", "md", "raid1", True)
    assert names(array.members) == ["sda", "sdb"]
    assert (array.activity, array.missing) == ("check, 25 %", 1)


def test_md_without_redundancy_and_at_rest(disks: Lab) -> None:
    device(disks, "md1", "9:1", "sda", "sdb", md__level="raid0", md__sync_action="idle", md__degraded="\x1b")
    (array,) = find_arrays(disks.machine)
    assert (array.redundant, array.activity, array.missing) == (False, "", 0)


def test_dm_on_two_disks_and_what_is_stacked_on_it(disks: Lab) -> None:
    device(disks, "dm-0", "253:0", "sda", "sdb", dm__name="vg-data_rimage", dm__uuid="LVM-x")
    device(disks, "dm-1", "253:1", "dm-0", dm__name="crypt", dm__uuid="CRYPT-LUKS2-x")
    device(disks, "dm-2", "253:2", "sdc", dm__name="vg-alone", dm__uuid="LVM-y")
    device(disks, "dm-3", "253:3", "sdc", "sdd", dm__name="mpatha", dm__uuid="mpath-3600")
    (array,) = find_arrays(disks.machine)
    assert (array.name, array.kind, array.redundant) == ("/dev/mapper/vg-data_rimage", "dm", None)
    assert names(array.members) == ["sda", "sdb"]


def test_a_volume_on_an_array_is_not_a_second_array(disks: Lab) -> None:
    device(disks, "md0", "9:0", "sda", "sdb", md__level="raid1")
    device(disks, "dm-0", "253:0", "md0", dm__name="vg-data", dm__uuid="LVM-x")
    assert [array.kind for array in find_arrays(disks.machine)] == ["md"]


def test_btrfs(disks: Lab) -> None:
    uuid = "0b1c2d3e-0000-1111-2222-333344445555"
    for name in ("sda", "sdc"):
        disks.link(f"sys/fs/btrfs/{uuid}/devices/{name}", disks.root / "sys/devices" / name)
    disks.write(f"sys/fs/btrfs/{uuid}/label", "data\n")
    disks.write(f"sys/fs/btrfs/{uuid}/allocation/data/raid1/total_bytes", "1")
    disks.write("sys/fs/btrfs/features/raid56", "0")
    (array,) = find_arrays(disks.machine)
    assert (array.name, array.level, array.redundant) == ("btrfs data", "raid1", True)
    assert names(array.members) == ["sda", "sdc"]


ZPOOL = """  pool: tank
 state: ONLINE
  scan: scrub in progress since Sun Nov  1 00:24:01 2026
config:

\tNAME              STATE     READ WRITE CKSUM
\ttank              ONLINE       0     0     0
\t  mirror-0        ONLINE       0     0     0
\t    /dev/sda      ONLINE       0     0     0
\t    /dev/sdb      FAULTED      3     0     0  too many errors
\tlogs
\t  mirror-1        ONLINE       0     0     0
\t    /dev/sdc      ONLINE       0     0     0
\t    /dev/sdd      ONLINE       0     0     0

errors: No known data errors

  pool: scratch
 state: ONLINE
config:

\tNAME          STATE     READ WRITE CKSUM
\tscratch       ONLINE       0     0     0
\t  /dev/sdc    ONLINE       0     0     0
\t  /dev/sdd    ONLINE       0     0     0

errors: No known data errors
"""


def test_zfs(disks: Lab) -> None:
    disks.fake("zpool", ZPOOL)
    mirror, stripe = find_arrays(disks.machine)
    assert (mirror.name, mirror.level, mirror.redundant, mirror.activity, mirror.missing) == (
        "pool tank",
        "mirror",
        True,
        "scrub",
        1,
    )
    assert names(mirror.members) == ["sda", "sdb"]
    assert (stripe.name, stripe.level, stripe.redundant, stripe.activity) == ("pool scratch", "stripe", False, "")
    assert disks.asked("zpool") == ["status -P -L"]


@pytest.mark.parametrize(
    "text", ["", "no pools available\n", "config:\n\t/dev/sda\n", "pool:\x1b[2J\nconfig:\n\t/dev/\x00\n\t/dev/sdq x\n"]
)
def test_broken_output_of_zpool(disks: Lab, text: str) -> None:
    assert read_status(disks.machine, text) == []
