"""What drives, controllers and arrays of a real run said of themselves, for the bounds that the storage causes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.line import Values
from flatwater.errors import UserError
from flatwater.experiment import ModelledStorage
from flatwater.experiment.device.raid import RaidDevice
from flatwater.results.health import BatteryCondition, ControllerHealth

#: A controller stops its write-back cache in these conditions, unless it was told to write back all the same.
_WRITES_THROUGH: dict[BatteryCondition, str] = {
    "missing": "has no battery",
    "learning": "had a battery that relearned",
    "replace": "has a battery that must be replaced",
}


def unprotected(evidence: Evidence, *conditions: BatteryCondition) -> list[ControllerHealth]:
    """The controllers below a real run whose battery was so, and whose cache need not have written back meanwhile."""
    health = evidence.health
    if health is None:
        return []
    asked = conditions or tuple(_WRITES_THROUGH)
    return [one for one in health.controllers if one.worst_battery in asked and not one.writes_back_anyway]


def battery_text(evidence: Evidence) -> str | None:
    """That a controller had no battery, or one that does not work now; None if all is well, or nothing is known."""
    told = [f"{one.name} {_WRITES_THROUGH[one.worst_battery]}" for one in unprotected(evidence) if one.worst_battery]
    return f"{', '.join(told)}: writes may have waited for the disks" if told else None


def chores_text(evidence: Evidence) -> str | None:
    """That a controller or an array was busy with itself before or after the run; None if not, or nothing is known."""
    health = evidence.health
    if health is None:
        return None
    told = [f"{one.name} was busy with a {task} {one.when(task)}" for one in health.controllers for task in one.chores]
    told += [
        f"{one.name} was busy with itself ({one.activity or one.activity_before}) {one.when}"
        for one in health.arrays
        if one.activity or one.activity_before
    ]
    return ", ".join(told) or None


@dataclass(frozen=True)
class Degraded:
    """An array below that lacked members."""

    #: `the array (raid10-8)`, `/dev/md0`
    name: str
    #: md, zfs, ...; `model` of a modelled one.
    kind: str
    missing: int
    #: The members of the whole array; None where they are not counted.
    members: int | None
    #: For each measured interval, whether it lacked a member; None of a real array, which is asked after the run.
    when: Values | None

    @property
    def text(self) -> str:
        """That members are missing, and for how long."""
        of = f" of its {self.members}" if self.members is not None else ""
        lacked = f"{self.name} lacked {self.missing}{of} member{'s' * ((self.members or self.missing) > 1)}"
        if self.when is None:
            return f"{lacked} when the run ended"
        return f"{lacked} in {100 * float(self.when.mean()):.0f} % of the seconds"


def degraded(evidence: Evidence) -> Degraded | None:
    """The array that lacked members; None if all were there, or nobody told."""
    line = evidence.device.members_working if evidence.device is not None else None
    storage = evidence.experiment.storage if evidence.experiment is not None else None
    if line is not None and isinstance(storage, ModelledStorage):
        try:
            array = storage.modelled_device
        except UserError:
            return None
        if not isinstance(array, RaidDevice) or line.min >= array.members:
            return None
        when = np.nan_to_num(line.value, nan=array.members) < array.members
        name = f"the array ({storage.device})"
        return Degraded(name, "model", array.members - int(line.min), array.members, when.astype(float))
    arrays = evidence.health.arrays if evidence.health is not None else []
    one = max(arrays, key=lambda array: array.missing, default=None)
    return Degraded(one.name, one.kind, one.missing, None, None) if one is not None and one.missing else None


def degraded_text(evidence: Evidence) -> str | None:
    """That an array lacked members; None if not, or nothing is known."""
    found = degraded(evidence)
    return found.text if found is not None else None


def heat_text(evidence: Evidence) -> str | None:
    """That a drive was so hot that it slowed itself down; None if not, or nothing is known."""
    health = evidence.health
    hot = [one for one in health.drives if one.was_hot and not one.modelled] if health is not None else []
    if not hot:
        return None
    line = evidence.device.temperature_c if evidence.device is not None else None
    degrees = f" (up to {line.max:.0f} degrees Celsius)" if line is not None else ""
    names = ", ".join(one.device for one in hot)
    return f"{names} was hot while it was measured{degrees}, and may have slowed itself down"
