"""Conflicts between a flash cache and other layers."""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.experiment.cache import FlashCache
from flatwater.experiment.cache.flash import DATA
from flatwater.experiment.database.placed import PlacedLayer
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.problem import Problem, quote
from flatwater.experiment.storage import FileStorage
from flatwater.experiment.workload import Fileio

#: All requests are multiples of this (crates/core/src/cache/mod.rs).
SECTOR = 512
_KINDS = ("cache.kind", "cache.enabled", "storage.kind", "storage.real_time", "cache.storage")


def cache_conflicts(experiment: Experiment) -> Iterator[Problem]:
    """Fields of the cache and of another layer that are each valid but conflict."""
    yield from _sizes_without_a_cache(experiment)
    cache = experiment.any_cache
    if cache is None:
        return
    if cache.before != DATA:
        yield from _placed_conflicts(experiment, cache)
        return
    if experiment.in_virtual_time:
        yield from _virtual_conflicts(experiment, cache)
    else:
        yield from _real_conflicts(experiment, cache)
    if isinstance(experiment.workload, Fileio) and any(size % SECTOR for size in experiment.fileio.block_sizes):
        what = f"a cache takes whole sectors of {SECTOR} B"
        yield Problem("workload.block_size", what, None, ("workload.block_size", *_KINDS))
    used = experiment.storage.used_bytes
    if used is not None and used < cache.block_size:
        what = "the storage is smaller than one block of the cache"
        yield Problem("storage.size", what, None, ("storage.size", "cache.block_size", *_KINDS))


def _sizes_without_a_cache(experiment: Experiment) -> Iterator[Problem]:
    """The length of a storage of files in an experiment without a cache; a sweep may move the cache to another one."""
    database = experiment.database
    if not isinstance(database, PlacedLayer) or isinstance(experiment.cache, FlashCache):
        return
    for name, storage in database.storages.items():
        if isinstance(storage, FileStorage) and storage.size is not None:
            field = f"database.storages.{name}.size"
            what = "has no meaning there: how much is written there follows from the workload"
            yield Problem(field, what, "take it out", (field, "cache.before", "cache.kind"))


def _placed_conflicts(experiment: Experiment, cache: FlashCache) -> Iterator[Problem]:
    """A cache in front of a storage that there is not, that nothing is on, or that has no length."""
    database, about = experiment.database, ("cache.before", "database.storages", "database.placement", *_KINDS)
    storages = database.storages if isinstance(database, PlacedLayer) else {}
    if cache.before not in storages:
        told = f"there is no storage {quote(cache.before)}"
        there = ", ".join([f'"{DATA}" (with the data)', *storages])
        rests_on = (f"database.storages.{cache.before}", *about)
        yield Problem("cache.before", told, f"there is {there}; database.storages has the others", rests_on)
        return
    if isinstance(database, PlacedLayer) and cache.before not in database.others:
        what = f"nothing is placed on {cache.before}: the cache would have nothing to do"
        yield Problem("cache.before", what, "place a part of the server on it, or cache.enabled = false", about)
    storage = storages[cache.before]
    if not experiment.in_virtual_time and storage.size is None:
        field = f"database.storages.{cache.before}.size"
        what = "is missing: the cached device is one file of this length"
        yield Problem(field, what, "large enough for the parts on it", (field, *about))
    if cache.warm:
        what = f"has no meaning in front of {cache.before}: its content is made anew for each cell"
        yield Problem("cache.warm", what, "warm = false", ("cache.warm", *about))
    if experiment.in_virtual_time:
        yield from _virtual_conflicts(experiment, cache)
    elif getattr(database, "url", None) is not None:
        what = "a server that runs already (database.url) does not stand on this cache"
        yield Problem("cache.kind", what, "take out [cache], or the url", ("cache.kind", "database.url", *_KINDS))


def _virtual_conflicts(experiment: Experiment, cache: FlashCache) -> Iterator[Problem]:
    for name in ("allow_processes", "deny_processes"):
        if getattr(cache, name):
            what = "has no meaning in virtual time: no process asks for anything"
            yield Problem(f"cache.{name}", what, "take it out", (f"cache.{name}", *_KINDS))
    passes = getattr(experiment.workload, "precondition_passes", 0)
    if cache.warm and passes > 0:
        what = "a cache that is warm is not preconditioned: that would replace what is in it"
        about = ("cache.warm", "workload.precondition_passes", *_KINDS)
        yield Problem("cache.warm", what, "warm = false, or precondition_passes = 0", about)


def _real_conflicts(experiment: Experiment, cache: FlashCache) -> Iterator[Problem]:
    if cache.warm:
        what = "has no meaning in real time: what is in a cache came in while somebody waited"
        yield Problem("cache.warm", what, "warm = false, and a workload.warmup_s", ("cache.warm", *_KINDS))
    database = experiment.database
    if getattr(database, "url", None) is not None:
        what = "a server that runs already (database.url) does not stand on this cache"
        yield Problem("cache.kind", what, "take out [cache], or the url", ("cache.kind", "database.url", *_KINDS))
    for name in ("fault", "purge"):
        if getattr(experiment.storage, name, None):
            what = "has no meaning under a cache: the workload does not see this device"
            yield Problem(f"storage.{name}", what, "take it out", (f"storage.{name}", *_KINDS))
