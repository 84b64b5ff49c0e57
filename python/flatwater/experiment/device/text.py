"""A modelled device in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flatwater.experiment.device.load import find_device
from flatwater.experiment.device.raid import RaidDevice

if TYPE_CHECKING:
    from flatwater.experiment.experiment import Experiment
    from flatwater.experiment.storage import ModelledStorage

#: Replaced figures that are named; beyond them they are counted.
_NAMED_MAX = 3
#: Figures without which an array is another one.
_ARRAY = {"level", "members", "device"}


def device_text(experiment: Experiment) -> str | None:
    """The modelled device's title, its file, what is not as in its file, and the cache on it; None where the storage is
    real, or where a template names no device.
    """
    told, cache = storage_text(experiment.storage), experiment.flash_cache
    if told is None or cache is None or cache.storage is None:
        return told
    return f"{told}; {cache.text}, on {storage_text(cache.storage) or 'files'}"


def storage_text(modelled: object) -> str | None:
    """The same of a modelled storage, the experiment's or its cache's."""
    from flatwater.experiment.storage import ModelledStorage

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
