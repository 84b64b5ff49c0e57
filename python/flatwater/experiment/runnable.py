"""The fields that a template may leave out and a run needs."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from flatwater.errors import UserError
from flatwater.experiment.cache import FlashCache
from flatwater.experiment.cache.flash import DATA
from flatwater.experiment.database import Server
from flatwater.experiment.database.placed import PlacedLayer
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.storage import ModelledStorage


def require_runnable(experiment: Experiment) -> None:
    """Raises UserError unless the experiment has a place and a size for its data.

    The storage checks, when it opens the place, whether it is writable and flatwater's. A server that is already
    running has its own place.
    """
    where = experiment.name or None
    if isinstance(experiment.cache, FlashCache):
        _require_cache(experiment, experiment.cache)
    if isinstance(experiment.database, PlacedLayer):
        _require_others(experiment, experiment.database)
    if isinstance(experiment.storage, ModelledStorage):
        _require_device(experiment, experiment.storage)
        return
    if isinstance(experiment.database, Server):
        _require_directories(experiment, experiment.database)
        return
    for path in _all_of(experiment, "storage.path", experiment.storage.path):
        if path is None:
            hint = "--set storage.path=DIR (or a file, or a block device)"
            raise UserError("storage.path is missing", where=where, hint=hint)
        if experiment.storage.size is None and not _is_a(stat.S_ISBLK, path):
            what = f"storage.size is missing, and {path} is not a block device that knows its own"
            raise UserError(what, where=where, hint="--set storage.size=4GiB")


def _require_device(experiment: Experiment, storage: ModelledStorage) -> None:
    where = experiment.name or None
    if storage.device is None:
        hint = "--set storage.device=NAME; `flatwater list --devices` shows them"
        raise UserError("storage.device is missing", where=where, hint=hint)
    if storage.real_time and any(path is None for path in _all_of(experiment, "storage.path", storage.path)):
        what = "storage.path is missing: the directory in which the content of the modelled device is kept"
        raise UserError(what, where=where, hint="--set storage.path=DIR, or storage.real_time = false")


def _require_others(experiment: Experiment, database: PlacedLayer) -> None:
    """Each storage that some cell places a part of the server on needs a device, a directory, or both."""
    where = experiment.name or None
    swept = [field for field in experiment.sweep.fields if field.startswith("database.placement")]
    for name, storage in database.storages.items():
        if name not in database.placement.said.values() and not swept:
            continue
        place = f"database.storages.{name}"
        if isinstance(storage, ModelledStorage):
            if any(one is None for one in _all_of(experiment, f"{place}.device", storage.device)):
                hint = f"--set {place}.device=NAME; `flatwater list --devices` shows them"
                raise UserError(f"{place}.device is missing", where=where, hint=hint)
            if not storage.real_time:
                continue
        for path in _all_of(experiment, f"{place}.path", storage.path):
            if path is None:
                what = f"{place}.path is missing: the directory in which flatwater puts parts of the server"
                raise UserError(what, where=where, hint=f"--set {place}.path=DIR")
            if _is_a(stat.S_ISREG, path) or _is_a(stat.S_ISBLK, path):
                what = f"{place}.path: {path} is not a directory, which a server needs"
                raise UserError(what, where=where, hint="for a block device: a directory of the file system on it")


def _require_cache(experiment: Experiment, cache: FlashCache) -> None:
    where, storage = experiment.name or None, cache.storage
    if storage is None:
        hint = '[cache.storage] kind = "file" with a path, or a modelled kind with a device'
        raise UserError("cache.storage is missing: the fast device", where=where, hint=hint)
    if isinstance(storage, ModelledStorage):
        if any(device is None for device in _all_of(experiment, "cache.storage.device", storage.device)):
            hint = "--set cache.storage.device=NAME; `flatwater list --devices` shows them"
            raise UserError("cache.storage.device is missing", where=where, hint=hint)
        if not storage.real_time:
            return
    for path in _all_of(experiment, "cache.storage.path", storage.path):
        if path is None:
            what = "cache.storage.path is missing: the directory in which the cache is kept"
            raise UserError(what, where=where, hint="--set cache.storage.path=DIR")
    sizes = [("cache.size", cache.size)]
    if DATA in _all_of(experiment, "cache.before", cache.before):
        sizes.append(("storage.size", experiment.storage.size))
    for field, size in sizes:
        modelled = cache.storage if field == "cache.size" else experiment.storage
        if isinstance(modelled, ModelledStorage):
            continue  # the size of the device is the default
        if any(one is None for one in _all_of(experiment, field, size)):
            raise UserError(f"{field} is missing", where=where, hint=f"--set {field}=4GiB")


def _require_directories(experiment: Experiment, server: Server) -> None:
    where = experiment.name or None
    if all(url is not None for url in _all_of(experiment, "database.url", server.url)):
        return
    for path in _all_of(experiment, "storage.path", experiment.storage.path):
        if path is None:
            what = "storage.path is missing: the directory in which flatwater puts the server's files"
            raise UserError(
                what, where=where, hint="--set storage.path=DIR, or database.url of a server that runs already"
            )
        if _is_a(stat.S_ISREG, path) or _is_a(stat.S_ISBLK, path):
            what = f"storage.path: {path} is not a directory, which a server needs"
            raise UserError(what, where=where, hint="for a block device: a directory of the file system on it")


def _all_of(experiment: Experiment, field: str, fixed: Any) -> list[Any]:
    """All values of a field in the sweep, or its single value."""
    swept = [values[field] for values in experiment.sweep.dimensions if field in values]
    return swept[0] if swept else [fixed]


def _is_a(kind: Any, path: str) -> bool:
    try:
        return bool(kind(Path(path).stat().st_mode))
    except (OSError, ValueError):
        return False
