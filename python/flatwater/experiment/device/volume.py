"""A volume in the network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field

from flatwater.experiment.device.device import Device, Use
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

    def spec(self, use: Use) -> dict[str, Any]:
        iops, throughput = self.iops, self.throughput
        return {
            "kind": "volume",
            "capacity_bytes": self.usable_bytes(use),
            "read_ns": round(self.read_us * 1000),
            "write_ns": round(self.write_us * 1000),
            "flush_ns": round(self.flush_us * 1000),
            "spread": self.spread_pct / 100,
            "requests": _limit(iops.baseline, iops.burst, iops.credits_max, iops.credits, 1),
            "request_bytes": self.request_size or 0,
            "bytes": _limit(
                throughput.baseline_mib_per_s,
                throughput.burst_mib_per_s,
                throughput.credits_max_mib,
                throughput.credits_mib,
                2**20,
            ),
        }


def _limit(baseline: float, burst: float | None, most: float, first: float | None, unit: int) -> dict[str, float]:
    return {
        "baseline_per_s": baseline * unit,
        "burst_per_s": (baseline if burst is None else burst) * unit,
        "credits_max": most * unit,
        "credits": (most if first is None else first) * unit,
    }
