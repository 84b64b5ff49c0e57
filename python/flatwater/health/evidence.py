"""All that is known of the drives of a machine at one moment: what warnings and gauges are made of."""

from __future__ import annotations

from dataclasses import dataclass

from flatwater.health.arrays import Array
from flatwater.health.controller import Controller, Task
from flatwater.health.drive import Reading
from flatwater.health.history import DAY_S, Entry
from flatwater.health.life import Life

_DAYS_A_YEAR = 365


@dataclass(frozen=True)
class Warranty:
    """What a maker promises of a drive, as its data sheet says it and the user gave it."""

    #: Full writes of the drive that are allowed each day, over so many years.
    drive_writes_per_day: float
    years: float

    def rated_bytes(self, capacity_bytes: float) -> float:
        """What the host may write in all: terabytes written."""
        return self.drive_writes_per_day * capacity_bytes * _DAYS_A_YEAR * self.years


@dataclass(frozen=True)
class Drive:
    """One drive, what it said before, and what is left of it."""

    reading: Reading
    before: tuple[Entry, ...] = ()
    #: At the present rate of writing.
    life: Life | None = None
    #: By the warranty that the user gave.
    warranty_life: Life | None = None

    @property
    def drive_writes_per_day(self) -> float | None:
        """Full writes of its capacity each day, at the present rate."""
        capacity = self.reading.identity.capacity_bytes
        rate = self.rate_bytes_per_s
        return rate * DAY_S / capacity if capacity and rate is not None else None

    @property
    def rate_bytes_per_s(self) -> float | None:
        """What the host writes."""
        life = self.life or self.warranty_life
        return None if life is None else life.rate.host_bytes_per_s

    @property
    def is_seen(self) -> bool:
        """Whether any gauge of the drive itself was read, beyond what the kernel tells of every disk."""
        gauges = self.reading.gauges
        return gauges.used_pct is not None or gauges.passed is not None or gauges.power_on_hours is not None


@dataclass(frozen=True)
class Evidence:
    """The machine's drives, arrays and controllers."""

    now_s: float
    drives: tuple[Drive, ...]
    arrays: tuple[Array, ...] = ()
    controllers: tuple[Controller, ...] = ()
    #: By the kind of array: what checks its arrays.
    checks: tuple[tuple[str, Task], ...] = ()
    warranty: Warranty | None = None
    #: What could not be seen of the machine as a whole.
    unseen: tuple[str, ...] = ()

    def drive_of(self, device: str) -> Drive | None:
        """The drive that people call so."""
        return next((drive for drive in self.drives if drive.reading.device == device), None)
