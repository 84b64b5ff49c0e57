"""The modelled device of an experiment in a few words."""

from __future__ import annotations

from flatwater.experiment.experiment import Experiment
from flatwater.experiment.storage.text import storage_text


def device_text(experiment: Experiment) -> str | None:
    """The modelled device's title, its file, the changes to it, and the cache on it; None if the storage is real, or if
    a template names no device.
    """
    told, cache = storage_text(experiment.storage), experiment.flash_cache
    if told is None or cache is None or cache.storage is None:
        return told
    return f"{told}; {cache.text}, on {storage_text(cache.storage) or 'files'}"
