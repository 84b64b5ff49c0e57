"""What flatwater samples in each interval besides the workload's own figures: one file per probe, registered here.

To add a probe, write `probe/NAME.py` with a class that has `sample() -> dict[str, float]` (series names with their
layer; deltas since the last call), and start it in `start_probes`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from flatwater.owned.mounted import find_block_device
from flatwater.probe.cpu import CpuProbe
from flatwater.probe.disk import DiskProbe
from flatwater.probe.machine import describe_machine, describe_storage, device_text
from flatwater.probe.memory import MemoryProbe, SwapProbe
from flatwater.probe.pressure import PressureProbe

__all__ = ["Probe", "describe_machine", "describe_storage", "device_text", "find_block_device", "start_probes"]


class Probe(Protocol):
    """An object that gives series of the time since the last call."""

    def sample(self) -> dict[str, float]:
        """The series of the interval that ends now, without those that this machine does not provide."""
        ...


def start_probes(path: Path | None) -> list[Probe]:
    """All probes, for a workload on `path` (None: on another machine); each has taken its first reading."""
    probes: list[Probe] = [CpuProbe(), PressureProbe(), MemoryProbe(), SwapProbe()]
    return probes if path is None else [*probes, DiskProbe(path)]
