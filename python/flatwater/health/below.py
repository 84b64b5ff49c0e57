"""What drives of a run are behind, before and after it: RAID controllers and arrays, and what those do by themselves.

A battery that is missing or relearns, a patrol read and a check of an array make a run slower than its drives are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flatwater.health.arrays import Array, find_arrays
from flatwater.health.arrays.md import md_chores
from flatwater.health.controller import Controller
from flatwater.health.controllers import controllers_of
from flatwater.health.disks import Disk
from flatwater.health.machine import Machine
from flatwater.results.health import ArrayHealth, ControllerHealth

_BATTERIES = {
    "missing": "has no battery",
    "learning": "had a battery that relearned",
    "replace": "has a battery that must be replaced",
    "doubtful": "has a battery that is not well",
}


@dataclass(frozen=True)
class Below:
    """Controllers and arrays at one moment."""

    controllers: tuple[Controller, ...] = ()
    arrays: tuple[Array, ...] = ()
    #: What could not be seen, and why.
    unseen: tuple[str, ...] = ()


def look_below(machine: Machine, disks: Sequence[Disk]) -> Below:
    """What these disks are behind and part of. An array on the same disks counts: its checks take their time too."""
    if not disks:
        return Below()
    controllers, unseen = controllers_of(machine, disks)
    arrays = tuple(array for array in find_arrays(machine) if set(array.members) & set(disks))
    return Below(tuple(controllers), arrays, tuple(unseen))


def controllers_between(before: Below, after: Below) -> list[ControllerHealth]:
    """Each controller at both moments, as a cell's summary keeps it."""
    earlier = {one.name: one for one in before.controllers}
    later = {one.name: one for one in after.controllers}
    # A program that fails once leaves what the other look saw.
    return [_controller_between(name, earlier.get(name), later.get(name)) for name in {**earlier, **later}]


def _controller_between(name: str, before: Controller | None, after: Controller | None) -> ControllerHealth:
    first, last = (one.battery if one is not None else None for one in (before, after))
    policies = {policy for one in (before, after) if one is not None for policy in one.policies}
    return ControllerHealth(
        name=name,
        model=next((one.model for one in (after, before) if one is not None), ""),
        battery_before=first.condition if first is not None else None,
        battery=last.condition if last is not None else None,
        battery_state=last.state if last is not None else "",
        running_before=_running(before),
        running=_running(after),
        policies=sorted(policies),
    )


def _running(controller: Controller | None) -> list[str]:
    return [task.name for task in controller.tasks if task.running] if controller is not None else []


def arrays_between(before: Below, after: Below) -> list[ArrayHealth]:
    """Each array at both moments, as a cell's summary keeps it."""
    earlier = {one.name: one for one in before.arrays}
    return [
        ArrayHealth(
            name=later.name,
            kind=later.kind,
            level=later.level,
            activity_before=earlier[later.name].activity if later.name in earlier else "",
            activity=later.activity,
            missing=later.missing,
        )
        for later in after.arrays
    ]


def warnings_of(controllers: Iterable[ControllerHealth], arrays: Iterable[ArrayHealth]) -> list[str]:
    """What makes the figures of a run doubtful."""
    found = []
    for one in controllers:
        words = _BATTERIES.get(one.worst_battery or "")
        if words is not None:
            found.append(f"{one.name} {words}: {_meaning(one)}")
        found += [f"{one.name} was busy with a {task} {one.when(task)}" for task in one.chores]
    for array in arrays:
        if array.activity or array.activity_before:
            found.append(f"{array.name} was busy with itself {array.when}: {array.activity or array.activity_before}")
        if array.missing:
            found.append(f"{array.name} has {array.missing} member{'s' * (array.missing > 1)} missing or failed")
    return found


def _meaning(controller: ControllerHealth) -> str:
    if controller.writes_back_anyway:
        return "its volumes write back all the same, and a power failure loses what they had not written"
    return "its volumes may write through, and then every write waits for the disks"


class ChoreProbe:
    """`storage.check_pct` and `storage.rebuild_pct`: how far software arrays (md) on some disks are with such work.

    There is a value only while it is under way, as with modelled arrays. Other arrays are asked before and after a run.
    """

    def __init__(self, machine: Machine, disks: Sequence[Disk]) -> None:
        self._machine = machine
        self._folders: list[Path] = [
            machine.path(f"/sys/block/{array.name.removeprefix('/dev/')}/md")
            for array in find_arrays(machine)
            if array.kind == "md" and set(array.members) & set(disks)
        ]

    @property
    def has_array(self) -> bool:
        """Whether there is anything to sample."""
        return bool(self._folders)

    def sample(self) -> dict[str, float]:
        """The work that is under way now; the furthest of several arrays."""
        found: dict[str, float] = {}
        for folder in self._folders:
            for work, done_pct in md_chores(self._machine, folder).items():
                name = f"storage.{work}_pct"
                found[name] = max(found.get(name, 0.0), done_pct)
        return found
