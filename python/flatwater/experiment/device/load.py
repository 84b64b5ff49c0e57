"""From a device's name, or a path, to a checked device.

A device of `devices/` is known by its file's name. `base = "other"` takes over everything of another device that the
file does not say itself. `parameters` replace single figures by their dotted names, as an experiment's
`storage.parameters` do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flatwater.experiment.device import KINDS
from flatwater.experiment.device.check import check_device
from flatwater.experiment.device.device import Device
from flatwater.experiment.device.files import device_files


@dataclass(frozen=True)
class DeviceEntry:
    """One device of `devices/`."""

    name: str
    kind: str
    title: str
    about: str
    #: Bytes that its host can use.
    capacity: int
    path: Path


def names_a_device(written: str) -> bool:
    """Whether a text is the name of a device that comes with flatwater and not, say, of an experiment's file."""
    return written in device_files() and not Path(written).is_file()


def list_devices() -> list[DeviceEntry]:
    """Every device that comes with flatwater, read and checked."""
    found = []
    for name, path in device_files().items():
        device = load_device(name)
        found.append(DeviceEntry(name, device.kind, device.title, device.about, device.capacity, path))
    return found


def load_device(written: str, parameters: Mapping[str, Any] | None = None) -> Device:
    """The device of a name or a path, some of its figures replaced.

    Errors: InvalidDeviceError, one problem a line; UserError when there is no such device or it is no TOML.
    """
    return check_device(written, parameters, tuple(KINDS.values()))
