"""Pools of ZFS, as `zpool status` lists them (zpool-status(8)); everybody may ask, where /dev/zfs may be opened."""

from __future__ import annotations

import re

from flatwater.errors import UserError
from flatwater.health.arrays.array import Array
from flatwater.health.disks import Disk, find_disks
from flatwater.health.machine import Machine
from flatwater.health.untrusted import one_line

KIND = "zfs"
_GROUP = re.compile(r"(mirror|raidz[123]?|draid[123]?)(?:-|:|$)")
#: Below these, `config` lists what holds no data of the pool's own groups.
_OTHERS = ("logs", "cache", "spares", "special", "dedup")
_BAD = ("FAULTED", "UNAVAIL", "REMOVED", "OFFLINE")
_LINES_MAX = 10_000


def find_zfs(machine: Machine) -> list[Array]:
    """Every group of the imported pools: the drives that replace each other."""
    program = machine.program("zpool")
    if program is None:
        return []
    said = machine.ask(program, "status", "-P", "-L")
    return [] if said.trouble else read_status(machine, said.output.decode(errors="replace"))


def read_status(machine: Machine, text: str) -> list[Array]:
    """The groups in the output of `zpool status -P -L`."""
    listing = _Listing(machine)
    for line in text.splitlines()[:_LINES_MAX]:
        listing.take(line)
    listing.end_group()
    return listing.found


class _Listing:
    """Reads the listing line by line."""

    def __init__(self, machine: Machine) -> None:
        self.found: list[Array] = []
        self._machine = machine
        self._pool = self._activity = self._group = ""
        #: Whether lines are of the table `config`, and of what holds no data of the pool's own groups.
        self._in_table = self._aside = False
        self._members: list[Disk] = []
        self._missing = 0

    def take(self, line: str) -> None:
        name, _, rest = line.strip().partition(":")
        if name == "pool":
            self.end_group()
            self._pool, self._activity, self._group, self._in_table = one_line(rest), "", "", False
        elif name == "scan":
            words = rest.split()
            self._activity = words[0] if words[1:3] == ["in", "progress"] else ""
        elif name == "config":
            self._in_table, self._aside = True, False
        elif name == "errors":
            self.end_group()
            self._in_table = False
        elif self._in_table and line.strip():
            self._take_row(line.split())

    def _take_row(self, words: list[str]) -> None:
        group = _GROUP.match(words[0])
        if words[0] in _OTHERS:
            self.end_group()
            self._aside = True
        elif group is not None:
            self.end_group()
            self._group = group[1]
        elif words[0].startswith("/dev/") and not self._aside:
            self._members += _disks(self._machine, words[0])
            self._missing += len(words) > 1 and words[1] in _BAD

    def end_group(self) -> None:
        """What was listed since the last group is one array; a disk alone is none."""
        if self._pool and len(self._members) > 1:
            level = self._group or "stripe"
            members = tuple({disk.name: disk for disk in self._members}.values())
            name = f"pool {self._pool}"
            self.found.append(Array(name, KIND, level, members, bool(self._group), self._activity, self._missing))
        self._members, self._missing = [], 0


def _disks(machine: Machine, path: str) -> list[Disk]:
    try:
        return find_disks(machine, one_line(path))
    except UserError:
        return []
