"""File systems of btrfs on several disks, from sysfs (/sys/fs/btrfs, since Linux 3.14)."""

from __future__ import annotations

from pathlib import Path

from flatwater.health.arrays.array import Array
from flatwater.health.disks import Disk, disks_under
from flatwater.health.machine import Machine
from flatwater.health.untrusted import one_line

KIND = "btrfs"
_UUID_PARTS = 5
_DISKS_MIN = 2


def find_btrfs(machine: Machine) -> list[Array]:
    """Every mounted file system that stands on more than one disk."""
    try:
        folders = sorted(machine.path("/sys/fs/btrfs").iterdir())
    except OSError:
        return []
    found = []
    for folder in folders:
        if folder.name.count("-") != _UUID_PARTS - 1:
            continue
        members: dict[str, Disk] = {}
        for device in sorted((folder / "devices").glob("*")):
            members |= {disk.name: disk for disk in disks_under(machine, device)}
        if len(members) >= _DISKS_MIN:
            level = _level(folder)
            redundant = None if not level else level.startswith("raid") and level != "raid0"
            label = one_line(machine.read(folder / "label") or "") or folder.name
            busy = _activity(machine, folder)
            found.append(Array(f"btrfs {label}", KIND, level, tuple(members.values()), redundant, busy))
    return found


def _level(folder: Path) -> str:
    """How data are spread: a folder of that name is in `allocation/data`."""
    names = ("raid0", "raid1", "raid1c3", "raid1c4", "raid10", "raid5", "raid6", "single", "dup")
    return next((name for name in names if (folder / "allocation/data" / name).is_dir()), "")


def _activity(machine: Machine, folder: Path) -> str:
    """`scrub` does not show in sysfs; what excludes other work does: balance, device remove."""
    action = one_line(machine.read(folder / "exclusive_operation") or "none")
    return "" if action == "none" else action
