"""A modelled storage in a few words."""

from __future__ import annotations

from flatwater.experiment.device.files import find_device
from flatwater.experiment.device.raid import RaidDevice
from flatwater.experiment.storage.modelled import ModelledStorage

#: The number of changed figures that are named; beyond it they are counted.
_NAMED_MAX = 3
#: Figures that change the identity of an array.
_ARRAY = {"level", "members", "device"}


def storage_text(modelled: object) -> str | None:
    """The title of a modelled storage's device, its file, and what is not as in its file; None where the storage is
    real, or where a template names no device.
    """
    if not isinstance(modelled, ModelledStorage) or modelled.device is None:
        return None
    written = modelled.device
    path = find_device(written)
    told = [f"devices/{path.name}" if path.stem == written else written]
    if modelled.capacity_scale != 1:
        told.append(f"{modelled.capacity_scale:g} of its capacity")
    names = list(modelled.parameters)
    if len(names) > _NAMED_MAX:
        told.append(f"{len(names)} figures replaced")
    elif names:
        told.append(f"{', '.join(names)} replaced")
    return f"{_title(modelled)} ({'; '.join(told)})"


def _title(modelled: ModelledStorage) -> str:
    """The title of the device's file; of an array that is quite another one than its file's, what it is."""
    device = modelled.modelled_device
    if not isinstance(device, RaidDevice) or not _ARRAY & set(modelled.parameters):
        return device.title
    return f"RAID {device.level} of {device.members} {device.device}"
