"""Modelled devices: one class a kind, met in KINDS; one file a device in `devices/`.

To add a device: write `devices/NAME.toml`. To add a kind, see CONTRIBUTING.md.
"""

from __future__ import annotations

from flatwater.experiment.device.device import Device, Initial, Use
from flatwater.experiment.device.event import ArrayEvent
from flatwater.experiment.device.hdd import HddDevice
from flatwater.experiment.device.memory import MemoryDevice
from flatwater.experiment.device.raid import RaidDevice
from flatwater.experiment.device.ssd import SsdDevice
from flatwater.experiment.device.volume import VolumeDevice

__all__ = [
    "KINDS",
    "ArrayEvent",
    "Device",
    "HddDevice",
    "Initial",
    "MemoryDevice",
    "RaidDevice",
    "SsdDevice",
    "Use",
    "VolumeDevice",
]

#: Every kind of device that works.
KINDS: dict[str, type[Device]] = {
    "hdd": HddDevice,
    "memory": MemoryDevice,
    "raid": RaidDevice,
    "ssd": SsdDevice,
    "volume": VolumeDevice,
}
