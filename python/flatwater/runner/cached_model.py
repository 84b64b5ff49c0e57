"""A flash cache over modelled devices, in the engine's words."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from flatwater.experiment import FlashCache
from flatwater.experiment.device import Device, Use
from flatwater.experiment.storage import ModelledStorage

#: Journal and checkpoints are written in pages of this many bytes (crates/core/src/cache/journal/layout.rs).
PAGE_BYTES = 4096
#: What the engine keeps of each block (the bound of crates/core/examples/cache_speed.rs).
MEMORY_BYTES_PER_BLOCK = 40


def cached_spec(cache: FlashCache, storage: dict[str, Any], *, align_bytes: int, fresh: bool = False) -> dict[str, Any]:
    """The cache in front of a storage whose spec is given: `storage::cached::Spec` of crates/model.

    Requests are multiples of `align_bytes`. `fresh`: its device was never written, and nothing is in it.
    """
    device, use = _device(cache, align_bytes)
    if fresh:
        use = replace(use, initial="fresh", simulate_initial=False)
    return {
        "kind": "cached",
        "fast": device.spec(use),
        "slow": storage,
        "fast_bytes": cache.size or 0,
        "block_bytes": cache.block_size,
        "preset": None if cache.preset == "none" else cache.preset,
        "settings": cache.changes(),
        "warm": cache.warm and not fresh,
    }


def _device(cache: FlashCache, align_bytes: int) -> tuple[Device, Use]:
    modelled = cache.fast
    assert isinstance(modelled, ModelledStorage), "checked when the experiment was read"
    # The cache keeps its device's queue full by itself.
    use = modelled.use(asynchronous=True, align_bytes=math.gcd(align_bytes, PAGE_BYTES))
    return modelled.modelled_device, use


def cached_notes(cache: FlashCache) -> list[str]:
    """What the model does differently from the cache's device, in sentences."""
    device, use = _device(cache, cache.block_size)
    return [f"the cache's device: {note}" for note in device.notes(use)]


def cache_memory_bytes(cache: FlashCache) -> int:
    """Memory that the engine and the model of the cache's device need."""
    device, use = _device(cache, PAGE_BYTES)
    size = cache.size or device.usable_bytes(use)
    return device.memory_bytes(use) + size // cache.block_size * MEMORY_BYTES_PER_BLOCK
