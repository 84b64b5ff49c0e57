"""Arrays of the machine: one file a kind, met here. To add one: `find_KIND(machine) -> list[Array]`, and its line."""

from __future__ import annotations

from collections.abc import Callable

from flatwater.health.arrays.array import Array
from flatwater.health.arrays.btrfs import find_btrfs
from flatwater.health.arrays.dm import find_dm
from flatwater.health.arrays.md import find_md
from flatwater.health.arrays.zfs import find_zfs
from flatwater.health.machine import Machine

__all__ = ["Array", "find_arrays"]

KINDS: tuple[Callable[[Machine], list[Array]], ...] = (find_md, find_dm, find_btrfs, find_zfs)


def find_arrays(machine: Machine) -> list[Array]:
    """Every array that stands on more than one drive."""
    return [array for find in KINDS for array in find(machine) if len(array.members) + array.missing > 1]
