"""The disks below a place whose file system spans several."""

from __future__ import annotations

from pathlib import Path

import pytest
from recordings import NOW_S, Lab

from flatwater.health import look_over, places
from flatwater.health.places import disks_of_place

ZPOOL = """\
  pool: tank
config:
\ttank        ONLINE
\t  mirror-0  ONLINE
\t    /dev/sda  ONLINE
\t    /dev/sdb  ONLINE
errors: No known data errors
"""


@pytest.fixture
def disks(machine_lab: Lab) -> Lab:
    for number, name in enumerate(("sda", "sdb", "sdc")):
        machine_lab.disk(name, number=f"8:{16 * number}")
    return machine_lab


def _mounted(monkeypatch: pytest.MonkeyPatch, number: tuple[int, int] | None, **mount: str) -> None:
    monkeypatch.setattr(places, "find_block_device", lambda place: number)
    monkeypatch.setattr(places, "mount_of", lambda place: mount)


def names(lab: Lab, place: Path) -> list[str]:
    return [disk.name for disk in disks_of_place(lab.machine, place)]


def test_zfs(disks: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disks.fake("zpool", ZPOOL)
    _mounted(monkeypatch, None, type="zfs", source="tank/mysql")
    assert names(disks, tmp_path) == ["sda", "sdb"]
    _mounted(monkeypatch, None, type="zfs", source="other/mysql")
    assert names(disks, tmp_path) == []


def test_btrfs(disks: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uuid = "0b1c2d3e-0000-1111-2222-333344445555"
    for name in ("sda", "sdc"):
        disks.link(f"sys/fs/btrfs/{uuid}/devices/{name}", disks.root / "sys/devices" / name)
    _mounted(monkeypatch, (8, 0), type="btrfs", source="/dev/sda")
    assert names(disks, tmp_path) == ["sda", "sdc"]
    _mounted(monkeypatch, (8, 16), type="btrfs", source="/dev/sdb")
    assert names(disks, tmp_path) == ["sdb"], "another file system"


def test_other_file_systems(disks: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _mounted(monkeypatch, (8, 16), type="ext4", source="/dev/sdb")
    assert names(disks, tmp_path) == ["sdb"]
    _mounted(monkeypatch, None, type="tmpfs", source="none")
    assert names(disks, tmp_path) == []


def test_a_folder_on_zfs_is_looked_over(disks: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    disks.fake("zpool", ZPOOL)
    _mounted(monkeypatch, None, type="zfs", source="tank/mysql")
    checkup = look_over(disks.machine, ["/proc/self"], NOW_S, kept=False)
    assert [drive.reading.device for drive in checkup.evidence.drives] == ["/dev/sda", "/dev/sdb"]
    assert [array.name for array in checkup.evidence.arrays] == ["pool tank"]
