"""The stored state of the drives under a cell: before and after it, or predicted by a model. Part of `CellSummary`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")


#: Of a controller's battery: `doubtful` where the controller has another word than that it is well.
BatteryCondition = Literal["well", "missing", "learning", "replace", "doubtful"]
#: The later, the less the cache is protected.
_WORSE: tuple[BatteryCondition | None, ...] = ("doubtful", "learning", "replace", "missing")


class LifeSpan(_Stored):
    """The expected length of a rated life at some rate, in years; None if it is unknown."""

    years: float | None = None
    low: float | None = None
    high: float | None = None
    #: The day of its end, as 2031-05-02; None for a model, whose time is virtual.
    ends_on: str | None = None
    #: The estimate in words, with its basis.
    basis: str = ""


class DriveHealth(_Stored):
    """One drive. Without `before`, the values are those after the cell. Counts are those of the cell."""

    #: `/dev/nvme0n1`; of a model `card`, `member 2`, `cache card`.
    device: str
    model: str = ""
    #: Predicted by a model, not read from a drive.
    modelled: bool = False
    #: The sources of the values: smartctl, nvme-cli, ioctl, sysfs, OCP log.
    sources: list[str] = Field(default_factory=list)
    used_pct_before: float | None = None
    used_pct: float | None = None
    spare_pct: float | None = None
    spare_threshold_pct: float | None = None
    #: From the drive's own counters.
    host_written_bytes: float | None = None
    host_read_bytes: float | None = None
    flash_written_bytes: float | None = None
    write_amplification: float | None = None
    #: From the kernel (/proc/diskstats), over the same time.
    kernel_written_bytes: int | None = None
    kernel_read_bytes: int | None = None
    media_errors: float | None = None
    temperature_c_before: float | None = None
    temperature_c: float | None = None
    #: The drive itself warns from this temperature on.
    temperature_warning_c: float | None = None
    throttle_events: float | None = None
    hot_minutes: float | None = None
    power_on_hours: float | None = None
    #: At the drive's mean rate of writing so far, and at the rate of this cell.
    life: LifeSpan | None = None
    workload_life: LifeSpan | None = None
    #: By the bytes that the maker allows the host to write, at the cell's rate.
    rated_life: LifeSpan | None = None
    #: Values that could not be read, with the reasons.
    unseen: list[str] = Field(default_factory=list)

    @property
    def was_hot(self) -> bool:
        """Whether it slowed itself down in the cell, or was at its warning temperature for a minute at least."""
        return bool(self.throttle_events or self.hot_minutes)


class ControllerHealth(_Stored):
    """A RAID controller that drives of the cell are behind. Without `before`, the values are those after the cell."""

    #: `controller 0`
    name: str
    model: str = ""
    #: Of the battery or capacitor; None where the controller has no place for one, or does not tell.
    battery_before: BatteryCondition | None = None
    battery: BatteryCondition | None = None
    #: The controller's own word: `Optimal`.
    battery_state: str = ""
    #: Tasks of its own that were under way: `patrol read`.
    running_before: list[str] = Field(default_factory=list)
    running: list[str] = Field(default_factory=list)
    #: The different write policies of its volumes; empty where they are not told.
    policies: list[str] = Field(default_factory=list)

    @property
    def worst_battery(self) -> BatteryCondition | None:
        """The condition in which the cache was least protected, before or after; None if it was well, or unknown."""
        known = [one for one in (self.battery_before, self.battery) if one not in (None, "well")]
        return max(known, key=_WORSE.index, default=None)

    @property
    def writes_back_anyway(self) -> bool:
        """Whether all volumes are known to write back without a working battery too."""
        return bool(self.policies) and set(self.policies) == {"always write-back"}

    @property
    def chores(self) -> list[str]:
        """Tasks of its own that were under way before or after the cell."""
        return sorted({*self.running_before, *self.running})

    def when(self, task: str) -> str:
        """`when the run began and when it ended`."""
        return _when(task in self.running_before, task in self.running)


class ArrayHealth(_Stored):
    """An array of this machine on drives of the cell: md, dm, btrfs or ZFS."""

    name: str
    kind: str = ""
    level: str = ""
    #: Work of its own that was under way: `check, 12 %`.
    activity_before: str = ""
    activity: str = ""
    #: Members that are missing or failed, after the cell.
    missing: int = 0

    @property
    def when(self) -> str:
        """`when the run began`: the moments at which it was busy with itself."""
        return _when(bool(self.activity_before), bool(self.activity))


def _when(before: bool, after: bool) -> str:
    moments = [word for word, so in (("when the run began", before), ("when it ended", after)) if so]
    return " and ".join(moments) if before else "when the run ended"


class CellHealth(_Stored):
    """The drives under a cell, from its first phase to the end of its last one."""

    drives: list[DriveHealth] = Field(default_factory=list)
    controllers: list[ControllerHealth] = Field(default_factory=list)
    arrays: list[ArrayHealth] = Field(default_factory=list)
    #: Seconds between the readings, and the operations in them: requests of fileio, transactions of databases.
    span_s: float | None = None
    operations: int | None = None
    #: Bytes that the kernel wrote and read on the drives for each operation.
    written_bytes_per_operation: float | None = None
    read_bytes_per_operation: float | None = None
    #: The same facts in sentences.
    text: list[str] = Field(default_factory=list)
    #: Reasons to doubt the figures, and other warnings.
    warnings: list[str] = Field(default_factory=list)

    @property
    def years(self) -> float | None:
        """The shortest life at the cell's rate, of all drives; None if none is known."""
        lives = [life for drive in self.drives if (life := drive.workload_life) is not None]
        return min((life.years for life in lives if life.years is not None), default=None)
