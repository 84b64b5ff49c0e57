"""The disks of a machine, and which of them a file, a partition, an array or a mapper stands on. From sysfs only."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from flatwater.errors import UserError
from flatwater.health.machine import Machine
from flatwater.health.untrusted import one_line
from flatwater.owned.mounted import find_block_device

#: Names of devices that are no hardware of their own (Documentation/admin-guide/devices.txt of Linux).
_NO_DRIVES = ("loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd", "zd", "drbd", "bcache")
_CHAIN_MAX = 64
#: The kernel's names of block devices have at most 31 characters (DISK_NAME_LEN).
_NAME = re.compile(r"[\w!.:-]{1,31}")


@dataclass(frozen=True)
class Disk:
    """A whole disk of the kernel, and below it perhaps a drive that only a controller can reach."""

    #: As the kernel calls it: `nvme0n1`, `sda`.
    name: str
    #: What smartctl calls the way to it: `megaraid,4`; empty where smartctl finds out.
    way: str = ""
    #: The device that smartctl is given where it is not the disk's own: `/dev/bus/0`.
    through: str = ""

    @property
    def path(self) -> str:
        """The device file that smartctl is given: the controller's, or the disk's own."""
        return self.through or f"/dev/{self.name}"

    @property
    def called(self) -> str:
        """As people call it."""
        return f"{self.path} {self.way}".strip()

    @property
    def is_nvme(self) -> bool:
        """Whether the disk is an NVMe drive that the kernel reaches directly."""
        return self.name.startswith("nvme") and not self.way


def list_disks(machine: Machine) -> list[Disk]:
    """Every disk that may be a drive: no loop devices, mappers and arrays, and none without a size."""
    try:
        names = sorted(entry.name for entry in machine.path("/sys/block").iterdir())
    except OSError:
        return []
    disks = [Disk(name) for name in names if not name.startswith(_NO_DRIVES) and not _is_hidden(machine, name)]
    return [disk for disk in disks if (machine.read(f"/sys/block/{disk.name}/size") or "0") != "0"]


def _is_hidden(machine: Machine, name: str) -> bool:
    """A path of a multipath NVMe drive: the drive itself is listed as well; and partitions that eMMC boots from."""
    return machine.read(f"/sys/block/{name}/hidden") == "1" or "boot" in name or "rpmb" in name


def find_disks(machine: Machine, asked: str, where: str = "DEVICE") -> list[Disk]:
    """The disks under what a user names: a disk, a partition, an array, a mapper, a file or a folder.

    Errors: UserError for what is not there, or is on no disk of this machine.
    """
    name = asked.removeprefix("/dev/")
    if _NAME.fullmatch(name) and (machine.path("/sys/block") / name).exists():
        return disks_under(machine, machine.path("/sys/block") / name)
    path = Path(asked)
    try:
        exists = path.exists()
    except (OSError, ValueError):
        exists = False
    if not exists:
        listed = ", ".join(disk.called for disk in list_disks(machine)) or "none"
        raise UserError(f"there is no {one_line(asked)}", where=where, hint=f"the disks of this machine: {listed}")
    controller = _namespaces(machine, path.name) if path.is_char_device() else []
    if controller:
        return controller
    number = find_block_device(path)
    if number is None:
        what = f"{asked} is on no block device of this machine"
        raise UserError(what, where=where, hint="name a disk, or a file on one")
    return disks_of_number(machine, number)


def disks_of_number(machine: Machine, number: tuple[int, int]) -> list[Disk]:
    """The disks under a device of the kernel, by its numbers."""
    link = machine.path(f"/sys/dev/block/{number[0]}:{number[1]}")
    try:
        folder = link.resolve(strict=True)
    except OSError:
        return []
    return disks_under(machine, folder)


def disks_under(machine: Machine, folder: Path) -> list[Disk]:
    """The disks that a device of sysfs stands on, itself if it stands on nothing; each once."""
    found: dict[str, Disk] = {}
    todo, seen = [folder], set[str]()
    while todo and len(seen) < _CHAIN_MAX:
        one = todo.pop(0)
        try:
            one = one.resolve(strict=True)
        except OSError:
            continue
        if str(one) in seen:
            continue
        seen.add(str(one))
        if (one / "partition").exists():
            todo.insert(0, one.parent)
            continue
        below = _slaves(one) or _backing(machine, one)
        if below:
            todo = [*below, *todo]
        elif not one.name.startswith(("loop", "ram", "zram", "dm-", "md")):
            found.setdefault(one.name, Disk(one.name))
    return list(found.values())


def _slaves(folder: Path) -> list[Path]:
    try:
        return sorted((folder / "slaves").iterdir())
    except OSError:
        return []


def _backing(machine: Machine, folder: Path) -> list[Path]:
    """What the file of a loop device lies on."""
    file = machine.read(folder / "loop/backing_file")
    number = find_block_device(Path(file)) if file else None
    return [machine.path(f"/sys/dev/block/{number[0]}:{number[1]}")] if number is not None else []


def _namespaces(machine: Machine, controller: str) -> list[Disk]:
    """The disks of an NVMe controller, which is a character device: `/dev/nvme0`."""
    return [disk for disk in list_disks(machine) if disk.name.startswith(f"{controller}n")]


def folder_of(machine: Machine, disk: Disk) -> Path:
    """A disk's folder in sysfs."""
    return machine.path(f"/sys/block/{disk.name}")


def number_of(machine: Machine, disk: Disk) -> str:
    """A disk's numbers, as /proc/diskstats begins its line: `259:0`; empty where it is gone."""
    return machine.read(f"/sys/block/{disk.name}/dev") or ""


def character_device(machine: Machine, disk: Disk) -> Path:
    """What takes the administrative commands of an NVMe drive: its controller, or the namespace itself."""
    name = disk.name.rpartition("n")[0] if disk.is_nvme else disk.name
    controller = machine.path(f"/dev/{name}")
    return controller if os.path.lexists(controller) else machine.path(f"/dev/{disk.name}")
