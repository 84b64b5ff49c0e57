"""The fields that a template may leave out and a run needs."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flatwater.errors import UserError
from flatwater.experiment.cache import FlashCache
from flatwater.experiment.cache.flash import DATA
from flatwater.experiment.database import Server
from flatwater.experiment.database.placed import PlacedLayer
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.storage import FileStorage, ModelledStorage, Storage
from flatwater.owned.mounted import is_one_place, require_free_place

_OF_CACHE = "cache.storage.path"


@dataclass(frozen=True)
class Missing:
    """A field that a run needs and the experiment does not give, or not so that a run could use it."""

    field: str
    what: str
    hint: str


def require_runnable(experiment: Experiment) -> None:
    """Raises UserError unless the experiment has a place and a size for its data, and each storage a place of its own.

    The storage checks, when it opens the place, whether it is writable and flatwater's. A server that is already
    running has its own place.
    """
    for one in find_missing(experiment):
        raise UserError(one.what, where=experiment.name or None, hint=one.hint)
    _require_own_places(experiment)


def find_missing(experiment: Experiment) -> Iterator[Missing]:
    """The fields that a run still needs."""
    if isinstance(experiment.cache, FlashCache):
        yield from _of_cache(experiment, experiment.cache)
    if isinstance(experiment.database, PlacedLayer):
        yield from _of_others(experiment, experiment.database)
    if isinstance(experiment.storage, ModelledStorage):
        yield from _of_device(experiment, experiment.storage)
        return
    if isinstance(experiment.database, Server):
        yield from _of_directories(experiment, experiment.database)
        return
    for path in _all_of(experiment, "storage.path", experiment.storage.path):
        if path is None:
            hint = "--set storage.path=DIR (or a file, or a block device)"
            yield Missing("storage.path", "storage.path is missing", hint)
        if experiment.storage.size is None and (path is None or not _is_a(stat.S_ISBLK, path)):
            what = f"storage.size is missing, and {path or 'storage.path'} is not a block device that knows its own"
            yield Missing("storage.size", what, "--set storage.size=4GiB")


def _of_device(experiment: Experiment, storage: ModelledStorage) -> Iterator[Missing]:
    if storage.device is None:
        hint = "--set storage.device=NAME; `flatwater list --devices` shows them"
        yield Missing("storage.device", "storage.device is missing", hint)
    if storage.real_time and any(path is None for path in _all_of(experiment, "storage.path", storage.path)):
        what = "storage.path is missing: the directory in which the content of the modelled device is kept"
        yield Missing("storage.path", what, "--set storage.path=DIR, or storage.real_time = false")


def _of_others(experiment: Experiment, database: PlacedLayer) -> Iterator[Missing]:
    """Each storage that some cell places a part of the server on needs a device, a directory, or both."""
    swept = [field for field in experiment.sweep.fields if field.startswith("database.placement")]
    for name, storage in database.storages.items():
        if name not in database.placement.said.values() and not swept:
            continue
        place = f"database.storages.{name}"
        if isinstance(storage, ModelledStorage):
            if any(one is None for one in _all_of(experiment, f"{place}.device", storage.device)):
                hint = f"--set {place}.device=NAME; `flatwater list --devices` shows them"
                yield Missing(f"{place}.device", f"{place}.device is missing", hint)
            if not storage.real_time:
                continue
        for path in _all_of(experiment, f"{place}.path", storage.path):
            if path is None:
                what = f"{place}.path is missing: the directory in which flatwater puts parts of the server"
                yield Missing(f"{place}.path", what, f"--set {place}.path=DIR")
            elif _is_a(stat.S_ISREG, path) or _is_a(stat.S_ISBLK, path):
                what = f"{place}.path: {path} is not a directory, which a server needs"
                yield Missing(f"{place}.path", what, "for a block device: a directory of the file system on it")


def _of_cache(experiment: Experiment, cache: FlashCache) -> Iterator[Missing]:
    storage = cache.storage
    if storage is None:
        hint = '[cache.storage] kind = "file" with a path, or a modelled kind with a device'
        yield Missing("cache.storage", "cache.storage is missing: the fast device", hint)
        return
    if isinstance(storage, ModelledStorage):
        if any(device is None for device in _all_of(experiment, "cache.storage.device", storage.device)):
            hint = "--set cache.storage.device=NAME; `flatwater list --devices` shows them"
            yield Missing("cache.storage.device", "cache.storage.device is missing", hint)
        if not storage.real_time:
            return
    for path in _all_of(experiment, _OF_CACHE, storage.path):
        if path is None:
            what = f"{_OF_CACHE} is missing: the directory in which the cache is kept"
            yield Missing(_OF_CACHE, what, f"--set {_OF_CACHE}=DIR")
    sizes = [("cache.size", cache.size)]
    if DATA in _all_of(experiment, "cache.before", cache.before):
        sizes.append(("storage.size", experiment.storage.size))
    for field, size in sizes:
        modelled = cache.storage if field == "cache.size" else experiment.storage
        if isinstance(modelled, ModelledStorage):
            continue  # the size of the device is the default
        if any(one is None for one in _all_of(experiment, field, size)):
            yield Missing(field, f"{field} is missing", f"--set {field}=4GiB")


def _of_directories(experiment: Experiment, server: Server) -> Iterator[Missing]:
    if all(url is not None for url in _all_of(experiment, "database.url", server.url)):
        return
    for path in _all_of(experiment, "storage.path", experiment.storage.path):
        if path is None:
            what = "storage.path is missing: the directory in which flatwater puts the server's files"
            hint = "--set storage.path=DIR, or database.url of a server that runs already"
            yield Missing("storage.path", what, hint)
        elif _is_a(stat.S_ISREG, path) or _is_a(stat.S_ISBLK, path):
            what = f"storage.path: {path} is not a directory, which a server needs"
            yield Missing("storage.path", what, "for a block device: a directory of the file system on it")


def _require_own_places(experiment: Experiment) -> None:
    """Every directory of every storage, also of those in a sweep: none is somebody else's, and the data and their parts
    have one each.
    """
    seen: list[tuple[str, Path]] = []
    for field, storage, path in places_of(experiment):
        if _is_a(stat.S_ISBLK, path) or _is_a(stat.S_ISREG, path):
            continue
        place = Path(path)
        require_free_place(place, field)
        # The card that holds the data may hold a cache for another storage, too.
        if isinstance(storage, FileStorage) and field != _OF_CACHE:
            for other, its in seen:
                if other != field and is_one_place(place, its):
                    what = f"{path} is the directory of {other}, too: one storage would be shown as two"
                    raise UserError(what, where=field, hint="another directory, or one storage for both")
            seen.append((field, place))


def places_of(experiment: Experiment) -> Iterator[tuple[str, Storage, str]]:
    """Every path of every storage that has files, also of those in a sweep, behind its field and its storage."""
    for field, storage in _storages(experiment):
        if isinstance(storage, ModelledStorage) and not storage.real_time:
            continue
        for path in _all_of(experiment, field, storage.path):
            if path is not None:
                yield field, storage, path


def _storages(experiment: Experiment) -> Iterator[tuple[str, Storage]]:
    """The storages that a run stands on, each with the field of its path."""
    if not (isinstance(experiment.database, Server) and experiment.database.url is not None):
        yield "storage.path", experiment.storage
    if isinstance(experiment.cache, FlashCache) and experiment.cache.storage is not None:
        yield _OF_CACHE, experiment.cache.storage
    if isinstance(experiment.database, PlacedLayer):
        for name, other in experiment.database.others.items():
            yield f"database.storages.{name}.path", other.storage


def _all_of(experiment: Experiment, field: str, fixed: Any) -> list[Any]:
    """All values of a field in the sweep, or its single value."""
    swept = [values[field] for values in experiment.sweep.dimensions if field in values]
    return swept[0] if swept else [fixed]


def _is_a(kind: Any, path: str) -> bool:
    try:
        return bool(kind(Path(path).stat().st_mode))
    except (OSError, ValueError):
        return False
