"""What a RAID controller says of its battery and of what it does by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flatwater.results.health import BatteryCondition

#: `always`: also without a working battery; some makers call it forced.
Policy = Literal["write-back", "always write-back", "write-through"]
#: Words that controllers have for a battery that does its work.
_WELL = ("optimal", "ok", "operational", "good", "")


@dataclass(frozen=True)
class Battery:
    """A battery or capacitor that saves the controller's cache when power fails."""

    #: `iBBU08`, `CVPM02`; empty where nobody tells.
    model: str = ""
    present: bool = True
    #: The controller's own word: `Optimal`.
    state: str = ""
    #: None where it is not told.
    learning: bool | None = None
    replace: bool | None = None
    #: When it learns next, in the controller's own words; empty where that is not told.
    next_learn: str = ""

    @property
    def condition(self) -> BatteryCondition:
        """What its state means for the cache."""
        if not self.present:
            return "missing"
        if self.replace:
            return "replace"
        if self.learning:
            return "learning"
        return "well" if self.state.lower() in _WELL else "doubtful"


@dataclass(frozen=True)
class Task:
    """What a controller or a machine does by itself, again and again: it takes time from requests while it runs."""

    #: `patrol read`, `consistency check`.
    name: str
    #: Whether it is planned at all; None where that is not told.
    scheduled: bool | None
    #: When next, in the words of who plans it.
    next_run: str = ""
    #: Whether it is under way; None where that is not told.
    running: bool | None = None


@dataclass(frozen=True)
class Controller:
    """One controller."""

    name: str
    model: str = ""
    #: None where nothing is told of one: HBAs have none.
    battery: Battery | None = None
    tasks: tuple[Task, ...] = ()
    #: Its address on the bus as sysfs writes it, `0000:06:00.0`; empty where that is not told.
    pci: str = ""
    #: The write policy of each of its volumes.
    policies: tuple[Policy, ...] = ()
