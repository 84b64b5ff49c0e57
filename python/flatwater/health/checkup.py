"""Looking over a machine's drives: what each says, what is left of it, and what is worth a warning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flatwater.errors import UserError
from flatwater.health.arrays import Array, find_arrays
from flatwater.health.controller import Task
from flatwater.health.controllers import find_controllers
from flatwater.health.disks import Disk, find_disks, list_disks
from flatwater.health.drive import Reading
from flatwater.health.evidence import Drive, Evidence, Warranty
from flatwater.health.history import History, keep, load_history
from flatwater.health.life import life_at, life_by_rating, rate_of_history, rate_of_life
from flatwater.health.machine import Machine
from flatwater.health.places import disks_of_place
from flatwater.health.reading import VIRTUAL, read_drive
from flatwater.health.schedules import find_check
from flatwater.health.smartctl import drives_behind, is_megaraid
from flatwater.health.warnings import Finding, Level, find_warnings, worst


@dataclass(frozen=True)
class Checkup:
    """What was found."""

    evidence: Evidence
    findings: tuple[Finding, ...]
    level: Level
    #: What is to be told besides, such as a history that cannot be kept.
    notes: tuple[str, ...] = ()


def look_over(
    machine: Machine,
    asked: Sequence[str],
    now_s: float,
    *,
    way: str = "",
    warranty: Warranty | None = None,
    history: Path | None = None,
    kept: bool = True,
) -> Checkup:
    """Looks over the drives under what is asked for, or all of the machine. `way` is smartctl's `--device`; `history`
    the folder in which it is kept (None: the user's state directory).

    Errors: UserError where what is asked for is not there.
    """
    disks = _disks(machine, asked, way)
    past = load_history(history)
    readings = [read_drive(machine, disk, now_s) for disk in disks]
    controllers, trouble = find_controllers(machine)
    arrays = tuple(array for array in find_arrays(machine) if not asked or _has_any(array, disks))
    evidence = Evidence(
        now_s=now_s,
        drives=tuple(judge(reading, past, warranty) for reading in readings),
        arrays=arrays,
        controllers=tuple(controllers),
        checks=_checks(machine, arrays),
        warranty=warranty,
        unseen=tuple(trouble),
    )
    notes = [note for note in (past.trouble, keep(readings, history) if kept else "") if note]
    findings = find_warnings(evidence)
    return Checkup(evidence, tuple(findings), _level(evidence, findings, named=bool(asked)), tuple(notes))


def _disks(machine: Machine, asked: Sequence[str], way: str) -> list[Disk]:
    """What is to be read: of a MegaRAID controller the drives behind it, in place of what it makes of them."""
    if way:
        # smartctl is told the way: the device is what it wants, a disk or `/dev/bus/0`.
        return [Disk(one.removeprefix("/dev/"), way, one) for one in asked]
    every = list_disks(machine)
    disks = [disk for one in asked for disk in _asked(machine, one)] if asked else every
    disks = list(dict.fromkeys(disks))
    behind = drives_behind(machine, disks)
    return [disk for disk in disks if not behind or not is_megaraid(machine, disk)] + behind


def _asked(machine: Machine, one: str) -> list[Disk]:
    """The disks under what a user names. Errors: UserError."""
    try:
        found = find_disks(machine, one)
    except UserError:
        # A file of ZFS is on no device that the kernel names.
        found = disks_of_place(machine, Path(one)) if _exists(one) else []
        if not found:
            raise
        return found
    return list(dict.fromkeys([*found, *(disks_of_place(machine, Path(one)) if _exists(one) else [])]))


def _exists(one: str) -> bool:
    try:
        return "/" in one and Path(one).exists()
    except (OSError, ValueError):
        return False


def judge(reading: Reading, past: History, warranty: Warranty | None) -> Drive:
    """A drive with what it said before, and what is left of it."""
    before = past.of(reading.identity.key, reading.at_s)
    rate = rate_of_history(reading, before) or rate_of_life(reading.gauges)
    if rate is None:
        return Drive(reading, tuple(before))
    capacity = reading.identity.capacity_bytes
    rated = None
    if warranty is not None and capacity:
        rated = life_by_rating(reading.gauges, rate, warranty.rated_bytes(capacity), reading.at_s)
    return Drive(reading, tuple(before), life_at(reading.gauges, rate, reading.at_s), rated)


def _has_any(array: Array, disks: Iterable[Disk]) -> bool:
    return bool(set(array.members) & set(disks))


def _checks(machine: Machine, arrays: Iterable[Array]) -> tuple[tuple[str, Task], ...]:
    kinds = sorted({array.kind for array in arrays if array.redundant})
    return tuple((kind, task) for kind in kinds if (task := find_check(machine, kind)) is not None)


def _level(evidence: Evidence, findings: Sequence[Finding], *, named: bool) -> Level:
    """The worst of all; unknown where a drive that was named, or any that is there, cannot be seen.

    A virtual machine's disk has nothing to be seen: that is unknown where it was named, or where there is no other.
    """
    levels: list[Level] = [finding.level for finding in findings]
    blind = [drive for drive in evidence.drives if not drive.is_seen]
    virtual = [drive for drive in blind if VIRTUAL in drive.reading.unseen]
    seen = len(evidence.drives) - len(blind)
    if not seen or len(blind) > len(virtual) or (named and blind):
        levels.append("unknown")
    return worst(levels)
