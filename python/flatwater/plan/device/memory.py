"""A memory appliance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flatwater.experiment.device import Use
from flatwater.experiment.device.memory import MemoryDevice
from flatwater.plan.units import bytes_per_s, ns


@dataclass(frozen=True)
class Memory:
    """Memory behind a link: `memory::Spec` of crates/model."""

    capacity_bytes: int
    latency_ns: int
    read_bytes_per_s: float
    write_bytes_per_s: float
    kind: Literal["memory"] = "memory"


def write_memory(box: MemoryDevice, use: Use) -> Memory:
    """The plan of an appliance with this use."""
    return Memory(
        capacity_bytes=box.usable_bytes(use),
        latency_ns=ns(box.latency_us),
        read_bytes_per_s=bytes_per_s(box.read_mib_per_s),
        write_bytes_per_s=bytes_per_s(box.write_mib_per_s),
    )


def plain_memory(*, capacity_bytes: int, latency_us: float, bytes_per_s: float) -> Memory:
    """An appliance with equal read and write speeds."""
    return Memory(capacity_bytes, ns(latency_us), bytes_per_s, bytes_per_s)
