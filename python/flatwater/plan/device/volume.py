"""A network volume."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from flatwater.experiment.device import Use
from flatwater.experiment.device.volume import VolumeDevice
from flatwater.plan.units import ns


@dataclass(frozen=True)
class Limit:
    """A limit with credits, in requests or in bytes."""

    baseline_per_s: float
    #: The rate while there are credits; equal to the baseline if there are no bursts.
    burst_per_s: float
    credits_max: float
    credits: float


@dataclass(frozen=True)
class Volume:
    """A rented volume: `volume::Spec` of crates/model."""

    capacity_bytes: int
    read_ns: int
    write_ns: int
    flush_ns: int
    #: Standard deviation of the logarithm of these times.
    spread: float
    requests: Limit
    #: A request counts once for each of this many bytes; 0: always once.
    request_bytes: int
    bytes: Limit
    kind: Literal["volume"] = "volume"


def write_volume(volume: VolumeDevice, use: Use) -> Volume:
    """The plan of a volume with this use."""
    iops, throughput = volume.iops, volume.throughput
    return Volume(
        capacity_bytes=volume.usable_bytes(use),
        read_ns=ns(volume.read_us),
        write_ns=ns(volume.write_us),
        flush_ns=ns(volume.flush_us),
        spread=volume.spread_pct / 100,
        requests=_limit(iops.baseline, iops.burst, iops.credits_max, iops.credits, 1),
        request_bytes=volume.request_size or 0,
        bytes=_limit(
            throughput.baseline_mib_per_s,
            throughput.burst_mib_per_s,
            throughput.credits_max_mib,
            throughput.credits_mib,
            2**20,
        ),
    )


def slower(volume: Volume, times: float) -> Volume:
    """A volume with all answer times multiplied by `times`."""
    return replace(
        volume,
        read_ns=round(volume.read_ns * times),
        write_ns=round(volume.write_ns * times),
        flush_ns=round(volume.flush_ns * times),
    )


def _limit(baseline: float, burst: float | None, most: float, first: float | None, unit: int) -> Limit:
    return Limit(
        baseline_per_s=baseline * unit,
        burst_per_s=(baseline if burst is None else burst) * unit,
        credits_max=most * unit,
        credits=(most if first is None else first) * unit,
    )
