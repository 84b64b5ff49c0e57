"""The cache layer: a fast device in front of the storage. Real and modelled caches are side by side.

real/        the flash cache, served as a file: it runs on any ground, and its file is a ground; placed.py: in front of
             another storage than that of the data
modelled.py  the same engine in virtual time, on any model
"""

from __future__ import annotations

from typing import assert_never

from flatwater.experiment import Experiment
from flatwater.experiment.cache import FlashCache, NoCache
from flatwater.experiment.storage import Storage as StorageFields
from flatwater.runner.stack.layers.cache import Cache
from flatwater.runner.stack.layers.layer import as_model
from flatwater.runner.stack.layers.storage import Device, Storage


def open_cached(storage: StorageFields, prefix: str) -> Storage:
    """One of a cell's other storages with the cache in front of it, in real time; `prefix` is that of its series."""
    from flatwater.runner.stack.cache.real.placed import CachedStorage

    return CachedStorage(storage, prefix)


def open_cache(cell: Experiment, storage: Storage) -> Cache | None:
    """The cache of a cell in front of its storage; None where there is none."""
    cache = cell.cache
    if isinstance(cache, NoCache):
        return None
    if not isinstance(cache, FlashCache):
        assert_never(cache)
    if isinstance(storage, Device):
        from flatwater.runner.stack.cache.real.cache import RealCache

        return RealCache(storage)
    if not cell.in_virtual_time:
        return None  # it is in front of another storage (others.py)
    from flatwater.runner.stack.cache.modelled import ModelledCache

    return ModelledCache(as_model(storage))
