"""A hard disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from flatwater.experiment.device.device import Device, Memory, Use
from flatwater.experiment.problem import Problem, Table

#: Sectors are addressed by whole ones (crates/model, hdd/geometry.rs).
_SECTOR_BYTES = 512


class Seek(Table):
    """Times of the arm, as datasheets tell them for reads."""

    track_to_track_us: float = Field(gt=0)
    #: Over random pairs of cylinders.
    average_us: float = Field(gt=0)
    full_stroke_us: float = Field(gt=0)
    #: What a write's seek takes longer.
    write_settle_us: float = Field(ge=0)
    #: From one surface to the next on the same cylinder.
    head_switch_us: float = Field(ge=0)


class DiskCache(Table):
    """The disk's own memory; a size of 0, or one that is not said: it is switched off."""

    #: How far it reads on after a read while it has nothing else to do.
    read_ahead: Memory = None
    #: Writes that end when they are in the memory.
    write_back: Memory = None


class HddDevice(Device):
    """An arm over turning platters, a queue, and a memory of its own."""

    KIND: ClassVar[str] = "hdd"

    kind: Literal["hdd"]
    rpm: float = Field(gt=0, le=100_000)
    #: How far one disk's speed may be from another's.
    rpm_tolerance_pct: float = Field(ge=0, lt=10, default=0.1)
    #: Surfaces with a head each.
    heads: int = Field(ge=1, le=64)
    #: Zones of as many cylinders each; their rates fall evenly from the outer to the inner one.
    zones: int = Field(ge=1, le=256)
    #: Sustained rates of the outermost and of the innermost zone.
    outer_mib_per_s: float = Field(gt=0)
    inner_mib_per_s: float = Field(gt=0)
    #: Commands among which the disk chooses the next.
    queue_depth: int = Field(ge=1, le=65536)
    #: A command that has waited for this long is next, wherever it is.
    age_limit_ms: float = Field(gt=0)
    #: A command's work that is not the arm's.
    overhead_us: float = Field(ge=0)
    link_mib_per_s: float = Field(gt=0)
    #: A flush waits until the disk has nothing else to do, and everything else waits for it, as over SATA.
    flushes_alone: bool = False
    seek: Seek
    cache: DiskCache = Field(default_factory=DiskCache)

    def conflicts(self) -> Iterator[Problem]:
        seek = self.seek
        if not seek.track_to_track_us <= seek.average_us <= seek.full_stroke_us:
            what = "must lie between track_to_track_us and full_stroke_us"
            yield Problem("seek.average_us", what, rests_on=("seek.track_to_track_us", "seek.full_stroke_us"))
        if self.inner_mib_per_s > self.outer_mib_per_s:
            what = f"must be at most outer_mib_per_s ({self.outer_mib_per_s:g}): inner tracks are shorter"
            yield Problem("inner_mib_per_s", what, rests_on=("outer_mib_per_s",))
        if self.capacity % _SECTOR_BYTES:
            yield Problem("capacity", f"must be a multiple of a sector ({_SECTOR_BYTES} B)")

    def usable_bytes(self, use: Use) -> int:
        """Whole sectors of it."""
        return super().usable_bytes(use) // _SECTOR_BYTES * _SECTOR_BYTES
