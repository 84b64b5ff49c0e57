"""The stored state of the drives under a cell: before and after it, or predicted by a model. Part of `CellSummary`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")


class LifeSpan(_Stored):
    """The expected length of a rated life at some rate, in years; None if it is unknown."""

    years: float | None = None
    low: float | None = None
    high: float | None = None
    #: The day of its end, as 2031-05-02; None for a model, whose time is virtual.
    ends_on: str | None = None
    #: The basis of the estimate, in words.
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


class CellHealth(_Stored):
    """The drives under a cell, from its first phase to the end of its last one."""

    drives: list[DriveHealth] = Field(default_factory=list)
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
