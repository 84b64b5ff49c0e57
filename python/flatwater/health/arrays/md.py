"""Software RAID of Linux, from sysfs (Documentation/admin-guide/md.rst)."""

from __future__ import annotations

from pathlib import Path

from flatwater.health.arrays.array import Array
from flatwater.health.disks import disks_under
from flatwater.health.machine import Machine
from flatwater.health.untrusted import one_line

KIND = "md"
#: Values of `sync_action`: a check reads all members, and the others copy data to some of them.
_CHORES = {"check": "check", "repair": "check", "resync": "rebuild", "recover": "rebuild", "reshape": "rebuild"}
_REDUNDANT = ("raid1", "raid4", "raid5", "raid6", "raid10")


def find_md(machine: Machine) -> list[Array]:
    """Every running array."""
    found = []
    for folder in sorted(machine.path("/sys/block").glob("md*/md")):
        device = folder.parent
        level = one_line(machine.read(folder / "level") or "")
        members = {disk.name: disk for disk in disks_under(machine, device)}
        degraded = machine.read(folder / "degraded") or "0"
        found.append(
            Array(
                name=f"/dev/{device.name}",
                kind=KIND,
                level=level,
                members=tuple(members.values()),
                redundant=level in _REDUNDANT if level else None,
                activity=_activity(machine, folder),
                missing=int(degraded) if degraded.isdecimal() and len(degraded) < 4 else 0,
            )
        )
    return found


def _activity(machine: Machine, folder: Path) -> str:
    """`check, 12 %`: what the array does by itself; empty while it does nothing."""
    action, done_pct = _work(machine, folder)
    return action if done_pct is None else f"{action}, {done_pct:.0f} %"


def md_chores(machine: Machine, folder: Path) -> dict[str, float]:
    """`check` or `rebuild`, whichever the array with this folder does now, and how far it is in percent."""
    action, done_pct = _work(machine, folder)
    kind = _CHORES.get(action)
    return {} if kind is None else {kind: done_pct or 0.0}


def _work(machine: Machine, folder: Path) -> tuple[str, float | None]:
    """What the array does by itself, and how far it is; an empty word while it does nothing."""
    action = one_line(machine.read(folder / "sync_action") or "idle")
    if action in ("idle", "frozen"):
        return "", None
    done, _, total = (machine.read(folder / "sync_completed") or "").partition(" / ")
    if done.isdecimal() and total.isdecimal() and len(total) < 20 and int(total):
        return action, min(100 * int(done) / int(total), 100.0)
    return action, None
