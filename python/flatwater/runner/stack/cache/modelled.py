"""A flash cache in virtual time, in front of a modelled device."""

from __future__ import annotations

from flatwater.experiment.device import Use
from flatwater.experiment.storage.text import storage_text
from flatwater.plan.device import cache_device, cache_memory_bytes
from flatwater.runner.stack.layers.cache import Cache
from flatwater.runner.stack.layers.layer import Model


class ModelledCache(Cache):
    """A cache that the engine computes, on any model of a storage."""

    def __init__(self, below: Model) -> None:
        self._below = below

    @property
    def text(self) -> str:
        cache = self._cell.any_cache
        return "" if cache is None else f"{cache.text}, on {storage_text(cache.storage)}"

    def notes(self, use: Use) -> list[str]:
        """The differences between the models and the devices, of the storage and of the cache."""
        cache, below = self._cell.flash_cache, self._below.notes(use)
        if cache is None:
            return below
        device, own_use = cache_device(cache, cache.block_size)
        return [*below, *(f"the cache's device: {note}" for note in device.notes(own_use))]

    def memory_bytes(self, use: Use) -> int:
        """Memory of the engine and of the models of both devices."""
        cache, below = self._cell.flash_cache, self._below.memory_bytes(use)
        if cache is None:
            return below
        return below + cache_memory_bytes(cache)
