"""Decides which mixtures of layers are possible, and refuses the others.

Either all layers are in virtual time, or none is. Otherwise any layer can stand on any other. The runner
(runner/stack/) composes only mixtures that pass here. All mixtures: tests/runner/stack/mixtures.txt.
"""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.experiment.database import InnodbModel, Server
from flatwater.experiment.database.placed import PlacedLayer
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.problem import Problem
from flatwater.experiment.storage import ModelledStorage
from flatwater.experiment.workload import Fileio, Observed, OwnStatements
from flatwater.experiment.workload.transactions import Transactions

_KINDS = ("workload.kind", "database.kind")
_STORAGE_KINDS = ("storage.kind", "storage.real_time", *_KINDS)
_CACHE_KINDS = ("cache.kind", "cache.enabled", "storage.kind", "storage.real_time", "cache.storage")


def mixture_conflicts(experiment: Experiment) -> Iterator[Problem]:
    """Layers that cannot stand on each other."""
    yield from pairing_conflicts(experiment)
    yield from _database_conflicts(experiment)
    yield from _cache_conflicts(experiment)
    yield from _placed_conflicts(experiment)


def pairing_conflicts(experiment: Experiment) -> Iterator[Problem]:
    """A workload without the server that it needs, or with a server that it cannot use."""
    workload, database = experiment.workload, experiment.database
    if isinstance(workload, Fileio) and isinstance(database, Server | InnodbModel):
        what = f'the workload "{workload.kind}" reads and writes the storage itself: a server would have nothing to do'
        hint = 'workload.kind = "tpcc", "oltp" or "sql", or take out [database]'
        yield Problem("database.kind", what, hint, _KINDS)
    if isinstance(workload, Transactions) and not isinstance(database, Server | InnodbModel):
        yield Problem("workload.kind", f'"{workload.kind}" needs a server', 'database.kind = "server"', _KINDS)
    if isinstance(workload, OwnStatements) and isinstance(database, InnodbModel):
        what = "a modelled server has the pages of tpcc and oltp, and none of the user's own tables"
        yield Problem("workload.kind", what, 'database.kind = "server"', _KINDS)
    if isinstance(workload, Observed):
        yield from _observed_pairing(experiment)


def _observed_pairing(experiment: Experiment) -> Iterator[Problem]:
    """Whatever is not a server that runs already, on storage of its own."""
    database = experiment.database
    if not isinstance(database, Server) or database.url is None:
        what = '"observed" watches a server that runs already'
        hint = 'database.kind = "server" with its database.url'
        yield Problem("workload.kind", what, hint, ("database.url", *_KINDS))
    if isinstance(experiment.storage, ModelledStorage):
        what = "a server that runs already has its own storage, and no modelled one"
        yield Problem("storage.kind", what, "take out [storage]", _STORAGE_KINDS)
    if experiment.any_cache is not None:
        what = "a server that runs already has its own storage: no cache can be put before it"
        yield Problem("cache.kind", what, "take out [cache]", _CACHE_KINDS)


def _database_conflicts(experiment: Experiment) -> Iterator[Problem]:
    """A server in another time than its storage. If the workload cannot use a server, only that is reported."""
    workload = experiment.workload
    if not isinstance(workload, Transactions) or (
        isinstance(workload, OwnStatements) and isinstance(experiment.database, InnodbModel)
    ):
        return
    if isinstance(experiment.database, Server) and experiment.in_virtual_time:
        what = "a server runs in real time, and this modelled storage does not"
        hint = "storage.real_time = true, or database.kind without a server"
        yield Problem("storage.kind", what, hint, _STORAGE_KINDS)
    if isinstance(experiment.database, InnodbModel) and not experiment.in_virtual_time:
        what = "a modelled server is in virtual time, and this storage is not"
        yield Problem("storage.kind", what, "a modelled storage without real_time", _STORAGE_KINDS)


def _cache_conflicts(experiment: Experiment) -> Iterator[Problem]:
    """A cache whose two devices are in different times."""
    cache = experiment.any_cache
    if cache is None or cache.storage is None or cache.in_virtual_time == experiment.in_virtual_time:
        return
    modelled = isinstance(cache.storage, ModelledStorage)
    if experiment.in_virtual_time:
        told = "the storage is in virtual time, in which nothing real runs, and the cache's device is not"
        hint = (
            "cache.storage.real_time = false" if modelled else 'a modelled cache device ([cache.storage] kind = "ssd")'
        )
        hint += ", or storage.real_time = true"
    else:
        told = "the cache's device is in virtual time, in which nothing real runs, and the storage is not"
        hint = "cache.storage.real_time = true, or a modelled storage without real_time"
    yield Problem("cache.storage", told, hint, _CACHE_KINDS)


def _placed_conflicts(experiment: Experiment) -> Iterator[Problem]:
    """Parts of a server on a storage that is in another time than the server."""
    database = experiment.database
    if not isinstance(database, PlacedLayer):
        return
    virtual = isinstance(database, InnodbModel)
    for name, other in database.others.items():
        storage = other.storage
        if (isinstance(storage, ModelledStorage) and not storage.real_time) == virtual:
            continue
        if virtual:
            what, hint = "a modelled server is in virtual time, and this storage is not", "a modelled one"
        else:
            what, hint = "a server runs in real time, and this modelled storage does not", "real_time = true"
        about = ("database.kind", "database.storages", "database.placement", f"database.storages.{name}.real_time")
        yield Problem(f"database.storages.{name}", what, hint, about)
