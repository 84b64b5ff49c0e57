"""A hard disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flatwater.experiment.device import Use
from flatwater.experiment.device.hdd import HddDevice
from flatwater.plan.units import bytes_per_s, ns


@dataclass(frozen=True)
class Seek:
    """Seek times of the arm, for reads."""

    track_to_track_ns: int
    average_ns: int
    full_stroke_ns: int


@dataclass(frozen=True)
class Hdd:
    """A disk with one arm: `hdd::Spec` of crates/model."""

    capacity_bytes: int
    revolution_ns: int
    revolution_spread: float
    heads: int
    zones: int
    outer_bytes_per_s: float
    inner_bytes_per_s: float
    seek: Seek
    #: The additional time of a seek for a write.
    write_settle_ns: int
    head_switch_ns: int
    queue_depth: int
    age_limit_ns: int
    overhead_ns: int
    link_bytes_per_s: float
    flushes_alone: bool
    #: 0: no read-ahead.
    read_ahead_bytes: int
    #: 0: the write cache is off.
    write_cache_bytes: int
    kind: Literal["hdd"] = "hdd"


def write_hdd(disk: HddDevice, use: Use) -> Hdd:
    """The plan of a disk with this use."""
    seek, cache = disk.seek, disk.cache
    return Hdd(
        capacity_bytes=disk.usable_bytes(use),
        revolution_ns=round(60e9 / disk.rpm),
        revolution_spread=disk.rpm_tolerance_pct / 100,
        heads=disk.heads,
        zones=disk.zones,
        outer_bytes_per_s=bytes_per_s(disk.outer_mib_per_s),
        inner_bytes_per_s=bytes_per_s(disk.inner_mib_per_s),
        seek=Seek(ns(seek.track_to_track_us), ns(seek.average_us), ns(seek.full_stroke_us)),
        write_settle_ns=ns(seek.write_settle_us),
        head_switch_ns=ns(seek.head_switch_us),
        queue_depth=disk.queue_depth,
        age_limit_ns=round(disk.age_limit_ms * 1e6),
        overhead_ns=ns(disk.overhead_us),
        link_bytes_per_s=bytes_per_s(disk.link_mib_per_s),
        flushes_alone=disk.flushes_alone,
        read_ahead_bytes=cache.read_ahead or 0,
        write_cache_bytes=cache.write_back or 0,
    )
