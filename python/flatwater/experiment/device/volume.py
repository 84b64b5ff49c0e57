"""A volume in the network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from flatwater.experiment.device.device import Device
from flatwater.experiment.problem import Problem, Table
from flatwater.experiment.units import Size


class Iops(Table):
    """How many requests a second."""

    baseline: float = Field(gt=0)
    #: While there are credits; not said: no bursts.
    burst: float | None = Field(gt=0, le=1e9, default=None)
    #: Credits, one a request, that can be saved up, and that it has in the beginning (not said: all of them).
    credits_max: float = Field(ge=0, le=1e15, default=0)
    credits: float | None = Field(ge=0, le=1e15, default=None)


class Throughput(Table):
    """How many bytes a second."""

    baseline_mib_per_s: float = Field(gt=0)
    burst_mib_per_s: float | None = Field(gt=0, default=None)
    #: Credits in MiB.
    credits_max_mib: float = Field(ge=0, le=1e15, default=0)
    credits_mib: float | None = Field(ge=0, le=1e15, default=None)


class VolumeDevice(Device):
    """A rented volume: its latency has a spread, and what it does in a second has limits, with credits for bursts."""

    KIND: ClassVar[str] = "volume"

    kind: Literal["volume"]
    #: Median times of requests that no limit delays.
    read_us: float = Field(gt=0)
    write_us: float = Field(gt=0)
    #: Time of a flush; not said: none, as the volume keeps copies before it answers a write.
    flush_us: float = Field(ge=0, default=0)
    #: Standard deviation of these times' logarithm, %.
    spread_pct: float = Field(ge=0, le=200)
    #: A request counts as one for each of so many bytes; not said: always as one.
    request_size: Size | None = None
    iops: Iops
    throughput: Throughput

    def conflicts(self) -> Iterator[Problem]:
        iops, throughput = self.iops, self.throughput
        pairs = [
            ("iops.burst", "iops.baseline", iops.burst, iops.baseline),
            (
                "throughput.burst_mib_per_s",
                "throughput.baseline_mib_per_s",
                throughput.burst_mib_per_s,
                throughput.baseline_mib_per_s,
            ),
        ]
        for name, below, burst, baseline in pairs:
            if burst is not None and burst < baseline:
                yield Problem(name, f"must be at least the baseline ({baseline:g})", rests_on=(below,))
