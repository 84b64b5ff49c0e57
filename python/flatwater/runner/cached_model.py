"""A modelled flash cache: what it takes, and how it differs from the device that it is said to be on."""

from __future__ import annotations

from flatwater.experiment import FlashCache
from flatwater.plan.device import CACHE_PAGE_BYTES, cache_device

#: What the engine keeps of each block (the bound of crates/core/examples/cache_speed.rs).
MEMORY_BYTES_PER_BLOCK = 40


def cached_notes(cache: FlashCache) -> list[str]:
    """What the model does differently from the cache's device, in sentences."""
    device, use = cache_device(cache, cache.block_size)
    return [f"the cache's device: {note}" for note in device.notes(use)]


def cache_memory_bytes(cache: FlashCache) -> int:
    """Memory that the engine and the model of the cache's device need."""
    device, use = cache_device(cache, CACHE_PAGE_BYTES)
    size = cache.size or device.usable_bytes(use)
    return device.memory_bytes(use) + size // cache.block_size * MEMORY_BYTES_PER_BLOCK
