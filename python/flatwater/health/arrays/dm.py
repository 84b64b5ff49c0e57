"""Device mapper: logical volumes and the like that stand on several disks, from sysfs."""

from __future__ import annotations

from flatwater.health.arrays.array import Array
from flatwater.health.disks import disks_under
from flatwater.health.machine import Machine
from flatwater.health.untrusted import one_line

KIND = "dm"
_DISKS_MIN = 2


def find_dm(machine: Machine) -> list[Array]:
    """Every mapped device that stands directly on more than one disk or partition. What is stacked on it is not named
    again, and neither are the parts that it is made of (`_rimage_0`). How it spreads its data is not in sysfs.
    """
    found = []
    for folder in sorted(machine.path("/sys/block").glob("dm-*")):
        name, uuid = (one_line(machine.read(folder / f"dm/{part}") or "") for part in ("name", "uuid"))
        try:
            slaves = [slave.name for slave in sorted((folder / "slaves").iterdir())]
        except OSError:
            continue
        # Several paths to one disk are no array.
        if uuid.startswith("mpath-") or any(slave.startswith("md") for slave in slaves):
            continue
        members = disks_under(machine, folder)
        if len(members) >= _DISKS_MIN and not _is_same_below(machine, slaves, len(members)):
            found.append(Array(f"/dev/mapper/{name or folder.name}", KIND, "", tuple(members), None))
    return found


def _is_same_below(machine: Machine, slaves: list[str], count: int) -> bool:
    """Whether a mapped device below it has the same disks, and tells of them already."""
    return any(
        slave.startswith("dm-") and len(disks_under(machine, machine.path(f"/sys/block/{slave}"))) == count
        for slave in slaves
    )
