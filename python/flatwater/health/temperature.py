"""The temperature of drives while something runs on them, where the kernel has a sensor for it. No right is needed."""

from __future__ import annotations

from collections.abc import Sequence

from flatwater.health.disks import Disk
from flatwater.health.machine import Machine
from flatwater.health.sysfs import temperature_files


class TemperatureProbe:
    """`storage.temperature_c`: of the warmest of some disks."""

    def __init__(self, machine: Machine, disks: Sequence[Disk]) -> None:
        self._machine = machine
        self._files = [path for disk in disks for path in temperature_files(machine, disk)]

    @property
    def has_sensor(self) -> bool:
        """Whether there is anything to sample."""
        return bool(self._files)

    def sample(self) -> dict[str, float]:
        """The temperature now; nothing where it cannot be read."""
        texts = [self._machine.read(path) or "" for path in self._files]
        degrees = [int(text) / 1000 for text in texts if text.isdecimal() and len(text) < 7]
        return {"storage.temperature_c": max(degrees)} if degrees else {}
