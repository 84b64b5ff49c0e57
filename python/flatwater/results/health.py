"""What is kept of the drives under a cell: before and after it, or predicted by a model. A part of `CellSummary`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")


class LifeSpan(_Stored):
    """How long a rated life lasts at some rate, in years; None where that cannot be told."""

    years: float | None = None
    low: float | None = None
    high: float | None = None
    #: The day that it ends, as 2031-05-02; None for a model, whose time is not this world's.
    ends_on: str | None = None
    #: What it rests on, in words.
    basis: str = ""


class DriveHealth(_Stored):
    """One drive. What has no `before` is as it was after the cell; counts are those of the cell."""

    #: `/dev/nvme0n1`; of a model `card`, `member 2`, `cache card`.
    device: str
    model: str = ""
    #: Predicted by a model, not read from a drive.
    modelled: bool = False
    #: What told it: smartctl, nvme-cli, ioctl, sysfs, OCP log.
    sources: list[str] = Field(default_factory=list)
    used_pct_before: float | None = None
    used_pct: float | None = None
    spare_pct: float | None = None
    spare_threshold_pct: float | None = None
    #: By the drive's own counters.
    host_written_bytes: float | None = None
    host_read_bytes: float | None = None
    flash_written_bytes: float | None = None
    write_amplification: float | None = None
    #: By the kernel (/proc/diskstats), in the same time.
    kernel_written_bytes: int | None = None
    kernel_read_bytes: int | None = None
    media_errors: float | None = None
    temperature_c_before: float | None = None
    temperature_c: float | None = None
    throttle_events: float | None = None
    hot_minutes: float | None = None
    power_on_hours: float | None = None
    #: At the present rate of writing, and if the drive was always written as in this cell.
    life: LifeSpan | None = None
    workload_life: LifeSpan | None = None
    #: By the bytes that the maker allows the host to write, at the cell's rate.
    rated_life: LifeSpan | None = None
    #: What could not be seen, and why.
    unseen: list[str] = Field(default_factory=list)


class CellHealth(_Stored):
    """The drives under a cell, from its first phase to the end of its last one."""

    drives: list[DriveHealth] = Field(default_factory=list)
    #: Seconds between the readings, and what was done in them: requests of fileio, transactions of databases.
    span_s: float | None = None
    operations: int | None = None
    #: Bytes that the kernel wrote to and read from the drives for each of them.
    written_bytes_per_operation: float | None = None
    read_bytes_per_operation: float | None = None
    #: All of it in sentences, for people.
    text: list[str] = Field(default_factory=list)
    #: What makes figures doubtful, or is worth a warning.
    warnings: list[str] = Field(default_factory=list)

    @property
    def years(self) -> float | None:
        """The shortest life at the cell's rate: that of the first drive to end; None where none is told."""
        lives = [life for drive in self.drives if (life := drive.workload_life) is not None]
        return min((life.years for life in lives if life.years is not None), default=None)
