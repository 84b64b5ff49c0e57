"""One drive at one moment: what its gauges say. Every figure may be missing, and `unseen` says why."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Literal, TypeVar

Protocol = Literal["NVMe", "ATA", "SCSI", "MMC", "unknown"]


@dataclass(frozen=True)
class Identity:
    """Which drive it is. No serial number is kept: `key` is a digest that tells one drive from another."""

    model: str = ""
    firmware: str = ""
    protocol: Protocol = "unknown"
    capacity_bytes: int | None = None
    #: None where nobody tells.
    rotational: bool | None = None
    #: 16 hexadecimal digits of the SHA-256 of model and serial number; empty where there is no serial number.
    key: str = ""


@dataclass(frozen=True)
class Gauges:
    """The figures. Percentages are of 100; None: not told."""

    #: Share of the rated life that is used, by the drive's own account; NVMe lets it exceed 100.
    used_pct: float | None = None
    #: Spare blocks that are left, and at which share the drive calls itself critical.
    spare_pct: float | None = None
    spare_threshold_pct: float | None = None
    #: Over the drive's life.
    host_written_bytes: float | None = None
    host_read_bytes: float | None = None
    #: What the drive wrote to its flash, its own copying included.
    nand_written_bytes: float | None = None
    #: One step of the counters of host bytes and of flash bytes.
    host_step_bytes: float | None = None
    nand_step_bytes: float | None = None
    #: Where both are told in pages of one unknown size: flash writes over host writes, of the drive's life.
    life_write_amplification: float | None = None
    #: Bytes that the maker says may be written by the host at a write amplification of 1 (OCP).
    endurance_bytes: float | None = None
    #: Data that the drive lost or could not correct.
    media_errors: float | None = None
    #: Blocks or sectors that were replaced, and that wait for it.
    reallocated: float | None = None
    pending: float | None = None
    temperature_c: float | None = None
    #: From which temperature on the drive warns, and from which on it may stop.
    temperature_warning_c: float | None = None
    temperature_critical_c: float | None = None
    #: Times that the drive slowed itself down because it was hot, and minutes at or above its warning temperature.
    throttle_events: float | None = None
    hot_minutes: float | None = None
    power_on_hours: float | None = None
    power_cycles: float | None = None
    unsafe_shutdowns: float | None = None
    #: The drive's own verdict.
    passed: bool | None = None
    #: What the drive calls critical, in words.
    critical: tuple[str, ...] = ()


#: What no drive can have counted: a hundred years of hours, and the bytes of a century at 30 GB/s, above what
#: a drive's link carries (PCIe 5.0 with four lanes: 16 GB/s). Counters that were never set read as all ones.
_HOURS_MAX, _BYTES_MAX = 876_600.0, 1e20


def plausible(gauges: Gauges) -> Gauges:
    """The gauges without those that no drive can have counted."""

    def up_to(most: float, value: float | None) -> float | None:
        return value if value is None or value <= most else None

    return replace(
        gauges,
        host_written_bytes=up_to(_BYTES_MAX, gauges.host_written_bytes),
        host_read_bytes=up_to(_BYTES_MAX, gauges.host_read_bytes),
        nand_written_bytes=up_to(_BYTES_MAX, gauges.nand_written_bytes),
        power_on_hours=up_to(_HOURS_MAX, gauges.power_on_hours),
        hot_minutes=up_to(60 * _HOURS_MAX, gauges.hot_minutes),
    )


@dataclass(frozen=True)
class Reading:
    """One drive at one moment."""

    #: As people call it: `/dev/nvme0n1`, `/dev/sda megaraid,4`.
    device: str
    #: Seconds since 1970, by this machine's clock.
    at_s: float
    #: What told it: `smartctl`, `nvme-cli`, `ioctl`, `sysfs`.
    sources: tuple[str, ...] = ()
    identity: Identity = field(default_factory=Identity)
    gauges: Gauges = field(default_factory=Gauges)
    #: What could not be seen, and why; a sentence each.
    unseen: tuple[str, ...] = ()

    @property
    def worn(self) -> bool:
        """Whether it is a drive that wears by writing, as far as it tells."""
        return self.gauges.used_pct is not None or self.identity.rotational is False

    def joined(self, other: Reading) -> Reading:
        """With what another source tells of the same drive where this one is silent."""
        return replace(
            self,
            sources=tuple(dict.fromkeys((*self.sources, *other.sources))),
            identity=_filled(self.identity, other.identity),
            gauges=_filled(self.gauges, other.gauges),
            unseen=tuple(dict.fromkeys((*self.unseen, *other.unseen))),
        )


#: What stands for a value that is not known.
_UNKNOWN = (None, "", (), "unknown")

Part = TypeVar("Part", Identity, Gauges)


def _filled(one: Part, other: Part) -> Part:
    """One with the other's values in the place of those that it lacks."""
    found = {part.name: getattr(other, part.name) for part in fields(one) if getattr(one, part.name) in _UNKNOWN}
    return replace(one, **found)
