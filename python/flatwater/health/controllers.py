"""The RAID controllers of the machine, and which of them a disk is behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flatwater.health.controller import Controller
from flatwater.health.disks import Disk
from flatwater.health.machine import Machine
from flatwater.health.megacli import read_megacli
from flatwater.health.smartctl import is_megaraid
from flatwater.health.storcli import read_storcli


def find_controllers(machine: Machine) -> tuple[list[Controller], list[str]]:
    """RAID controllers: storcli's account, else MegaCli's; and what went wrong."""
    found, trouble = read_storcli(machine)
    if found:
        return found, []
    older, more = read_megacli(machine)
    return older, [one for one in (trouble, more) if one and not older]


def controllers_of(machine: Machine, disks: Iterable[Disk]) -> tuple[list[Controller], list[str]]:
    """The controllers that these disks are behind; and what could not be seen. Nothing is asked of other disks."""
    addresses = [_addresses(machine, disk) for disk in disks if is_megaraid(machine, disk)]
    if not addresses:
        return [], []
    found, trouble = find_controllers(machine)
    if not found:
        return [], trouble or ["the RAID controller: neither storcli, perccli nor MegaCli is installed"]
    if len(found) == 1:
        return found, []
    if not all(one.pci for one in found):
        return [], ["the RAID controller: there are several, and which one the data are behind is not told"]
    return [one for one in found if any(one.pci in parts for parts in addresses)], []


def _addresses(machine: Machine, disk: Disk) -> Sequence[str]:
    """The bus addresses on the way to a disk, which are parts of its path in sysfs."""
    try:
        return machine.path(f"/sys/block/{disk.name}").resolve(strict=True).parts
    except OSError:
        return ()
