"""The disks that a file or a folder is on, also where its file system spans several: ZFS and btrfs."""

from __future__ import annotations

from pathlib import Path

from flatwater.health.arrays.btrfs import find_btrfs
from flatwater.health.arrays.zfs import find_zfs
from flatwater.health.disks import Disk, disks_of_number
from flatwater.health.machine import Machine
from flatwater.owned.mounted import find_block_device, mount_of


def disks_of_place(machine: Machine, place: Path) -> list[Disk]:
    """Every disk below a file, a folder or a block device; none in memory or over a network."""
    number = find_block_device(place)
    found = disks_of_number(machine, number) if number is not None else []
    mount = {} if place.is_block_device() else mount_of(place)
    if mount.get("type") == "zfs":
        # Its files have no device: the mount's source is `pool/dataset`.
        pool = f"pool {mount.get('source', '').partition('/')[0]}"
        found += [disk for array in find_zfs(machine) if array.name == pool for disk in array.members]
    elif mount.get("type") == "btrfs":
        # The mount names one device of those that the file system is on.
        found += [disk for array in find_btrfs(machine) if set(array.members) & set(found) for disk in array.members]
    return list(dict.fromkeys(found))
