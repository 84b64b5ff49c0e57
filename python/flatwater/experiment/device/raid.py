"""An array of devices behind a controller."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from flatwater.errors import UserError
from flatwater.experiment.device.check import check_device
from flatwater.experiment.device.device import Device, Use
from flatwater.experiment.device.files import find_device, read_tables
from flatwater.experiment.device.hdd import HddDevice
from flatwater.experiment.device.memory import MemoryDevice
from flatwater.experiment.device.ssd import SsdDevice
from flatwater.experiment.device.volume import VolumeDevice
from flatwater.experiment.problem import Problem, Table
from flatwater.experiment.units import Percent, Seconds, Size, SomeSeconds, print_size

Level = Literal[0, 1, 5, 10]
#: What an array may be of.
MEMBERS = (HddDevice, MemoryDevice, SsdDevice, VolumeDevice)

#: Members that each level needs.
_MEMBERS_MIN: dict[Level, int] = {0: 1, 1: 2, 5: 3, 10: 4}
#: A line of the controller's memory is no larger: InnoDB's page.
_LINE_BYTES_MAX = 16384
#: The model keeps account of a block's lines in 64 bits (crates/model, raid/cache.rs).
_BLOCK_LINES_MAX = 64
#: A capacity may be rounded to so much less than the members give: makers leave some room for members of others.
_CAPACITY_SHARE_MIN = 0.95


class Controller(Table):
    """What takes the host's requests."""

    #: Its own time for a request, one after another: the inverse is the most that it does in a second.
    read_us: float = Field(ge=0)
    write_us: float = Field(ge=0)
    #: What a request takes beside that.
    latency_us: float = Field(ge=0)
    link_mib_per_s: float = Field(gt=0)
    #: Commands that it gives to a member at once.
    member_queue_depth: int = Field(ge=1, le=65536)
    #: Rows whose parity it changes, or that it writes from its memory, at once.
    updates_at_once: int = Field(ge=1, le=65536)
    #: Whether parity is written beside the data or after it.
    parity: Literal["beside-data", "after-data"] = "beside-data"
    #: With a battery, writes end when they are in the memory.
    battery: bool = True


class ControllerCache(Table):
    """The controller's memory, for reads and for writes."""

    size: Size
    #: What one block of it takes; not said: a stripe unit.
    block: Size | None = None
    #: Share that writes may take.
    dirty_pct: Percent = 75
    #: Share of that from which on they go to the members without a pause.
    destage_from_pct: Percent = 50
    #: Whether all of a row that waits goes to the members together, or only what follows each other.
    destage: Literal["rows", "runs"] = "rows"
    #: Everything goes to the members about this often.
    destage_after_s: SomeSeconds = 4


class Background(Table):
    """What the controller does by itself: shares are of the members' time."""

    patrol_pct: float = Field(gt=0, le=100, default=30)
    check_pct: float = Field(gt=0, le=100, default=30)
    rebuild_pct: float = Field(gt=0, le=100, default=30)
    #: Bytes of a member that it takes at once.
    chunk: Size = 1 << 20
    #: How long the battery relearns: no write-back meanwhile.
    relearn_s: Seconds = 7 * 3600.0


class RaidDevice(Device):
    """RAID 0, 1, 10 or 5 of devices of one kind and age."""

    KIND: ClassVar[str] = "raid"

    kind: Literal["raid"]
    level: Level
    members: int = Field(ge=1, le=256)
    #: What each member is: a name of `devices/`, or a path.
    device: str = Field(min_length=1)
    #: Figures of the member that are others in this array, by dotted names.
    device_parameters: dict[str, bool | int | float | str] = Field(default_factory=dict)
    stripe_unit: Size
    controller: Controller
    cache: ControllerCache | None = None
    background: Background = Field(default_factory=Background)

    def member(self) -> Device:
        """What each member is. Errors: UserError."""
        return check_device(self.device, self.device_parameters, MEMBERS)

    def conflicts(self) -> Iterator[Problem]:
        enough = self.members >= _MEMBERS_MIN[self.level]
        if not enough or (self.level == 10 and self.members % 2):
            even = " and an even number" if self.level == 10 else ""
            what = f"RAID {self.level} needs at least {_MEMBERS_MIN[self.level]}{even}, not {self.members}"
            yield Problem("members", what, rests_on=("level",))
            return
        yield from self._memory_conflicts()
        try:
            if self._is_of_arrays():
                yield Problem("device", "an array's members cannot be arrays themselves")
                return
            member = self.member()
        except UserError as error:
            yield Problem("device", error.what, error.hint, ("device_parameters",))
            return
        given = self._rows(member.capacity) * self._data_units * self.stripe_unit
        if not given * _CAPACITY_SHARE_MIN <= self.capacity <= given:
            what = f"must be what the members give: {print_size(given)} ({given} B), or up to 5 % less"
            yield Problem("capacity", what, rests_on=("level", "members", "device", "stripe_unit"))

    def _is_of_arrays(self) -> bool:
        """Asked of the member's file before it is checked: an array of itself would never end."""
        return read_tables(find_device(self.device)).get("kind") == self.KIND

    def _memory_conflicts(self) -> Iterator[Problem]:
        if self.cache is None:
            return
        block = self.cache.block or self.stripe_unit
        if self.stripe_unit % block:
            yield Problem("cache.block", "must divide stripe_unit", rests_on=("stripe_unit",))
        if self.cache.size < 16 * block:
            yield Problem("cache.size", f"must hold 16 blocks of {print_size(block)}", rests_on=("cache.block",))

    @property
    def _data_units(self) -> int:
        return {0: self.members, 1: 1, 5: self.members - 1, 10: self.members // 2}[self.level]

    def _rows(self, member_bytes: int) -> int:
        return member_bytes // self.stripe_unit

    def usable_bytes(self, use: Use) -> int:
        """What of its capacity whole rows of scaled members hold."""
        given = self._rows(self.member().usable_bytes(member_use(use))) * self._data_units * self.stripe_unit
        return int(min(given, self.capacity * use.scale) * (1 - use.reserve))

    def memory_bytes(self, use: Use) -> int:
        return self.members * self.member().memory_bytes(use)

    def lines(self, use: Use) -> tuple[int, int]:
        """Bytes of a line and of a block of the memory: lines as large as all requests allow, blocks of at most 64."""
        block = self.cache.block if self.cache and self.cache.block else self.stripe_unit
        line = min(math.gcd(use.align_bytes & -use.align_bytes, block & -block), _LINE_BYTES_MAX)
        while block // line > _BLOCK_LINES_MAX and block % 2 == 0:
            block //= 2
        return (line, block) if block // line <= _BLOCK_LINES_MAX else (line, line)


def member_use(use: Use) -> Use:
    """How an array uses a member: through its own queue; reserve and events are the array's."""
    return replace(use, asynchronous=True, reserve=0.0, events=())
