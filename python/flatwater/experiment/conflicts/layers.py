"""Conflicts between layers."""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.experiment.cache import FlashCache
from flatwater.experiment.conflicts.cache import cache_conflicts
from flatwater.experiment.conflicts.load_hosts import load_conflicts
from flatwater.experiment.conflicts.mixture import mixture_conflicts
from flatwater.experiment.conflicts.placed_tables import placed_table_conflicts
from flatwater.experiment.conflicts.sql import sql_conflicts
from flatwater.experiment.database import InnodbModel, Server
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.problem import Problem
from flatwater.experiment.storage import ModelledStorage
from flatwater.experiment.units import print_size
from flatwater.experiment.workload import Fileio, Observed, Replay
from flatwater.experiment.workload.transactions import Transactions

#: Fields of a storage of files without a meaning for a server's: (field, what to use instead).
_FILES_ONLY = (
    ("size", "how large a database is follows from workload.warehouses or workload.rows"),
    ("fill", "how large a database is follows from workload.warehouses or workload.rows"),
    ("overwrite", "flatwater's servers write to directories of their own only"),
    ("purge", "a server's files are made anew from a snapshot"),
    ("fault", "a server's faults are database.fault"),
)
_KINDS = ("workload.kind", "database.kind")


def layer_conflicts(experiment: Experiment) -> Iterator[Problem]:
    """Fields of several layers that are each valid but conflict."""
    yield from mixture_conflicts(experiment)
    if isinstance(experiment.workload, Fileio):
        yield from _file_conflicts(experiment)
        if experiment.in_virtual_time:
            yield from _virtual_conflicts(experiment.workload)
    elif isinstance(experiment.workload, Observed):
        yield from _observed_conflicts(experiment)
    else:
        yield from _server_conflicts(experiment, experiment.workload)
        yield from sql_conflicts(experiment)
    yield from placed_table_conflicts(experiment)
    yield from cache_conflicts(experiment)
    yield from load_conflicts(experiment)
    yield from _time_conflicts(experiment)


def _file_conflicts(experiment: Experiment) -> Iterator[Problem]:
    largest = max(experiment.fileio.block_sizes)
    room = experiment.size_per_file
    about = ("workload.block_size", "workload.files", "storage.size", "storage.fill", *_KINDS)
    if room is not None and largest > room:
        what = f"a block of {print_size(largest)} is larger than a file ({print_size(room)} used of each)"
        yield Problem("workload.block_size", what, "a larger storage.size, fewer files or smaller blocks", about)

    if isinstance(experiment.workload, Replay):
        yield from _replay_conflicts(experiment, experiment.workload)


def _replay_conflicts(experiment: Experiment, workload: Replay) -> Iterator[Problem]:
    used, span = experiment.storage.used_bytes, workload.summary["span_bytes"]
    if workload.offsets == "as-is" and used is not None and span > used:
        what = f"the trace goes up to byte {span:,}, and {print_size(used)} of the storage are used"
        hint = f'offsets = "wrap" or "scale", or a storage.size of {print_size(span)} or more'
        about = ("workload.trace", "workload.format", "workload.files", "storage.size", "storage.fill", *_KINDS)
        yield Problem("workload.offsets", what, hint, about)


def _virtual_conflicts(workload: Fileio) -> Iterator[Problem]:
    """Fields without a meaning for a workload on a device in virtual time."""
    refused = (
        ("direct", not workload.direct, "there is no page cache to go through", "direct = true"),
        ("verify", workload.verify, "a modelled device keeps no data that could be read back", "verify = false"),
        ("compressible_pct", workload.compressible_pct > 0, "a modelled device looks into no data", "take it out"),
    )
    for name, is_set, why, hint in refused:
        if is_set:
            about = (f"workload.{name}", "storage.kind", "storage.real_time", *_KINDS)
            yield Problem(f"workload.{name}", f"has no meaning on modelled storage: {why}", hint, about)


def _server_conflicts(experiment: Experiment, workload: Transactions) -> Iterator[Problem]:
    database = experiment.database
    if isinstance(database, InnodbModel):
        yield from _model_conflicts(experiment, database, workload)
        return
    if not isinstance(database, Server) or experiment.in_virtual_time:
        return
    if workload.connections < database.instances:
        what = f"{workload.connections} are too few for {database.instances} instances"
        rests_on = ("workload.connections", "database.instances", *_KINDS)
        yield Problem("workload.connections", what, "at least one connection an instance", rests_on)
    fault = database.fault
    if fault is not None and workload.steady_state == "none" and fault.at_s >= workload.duration_s:
        what = f"after {fault.at_s:g} s the measurement of {workload.duration_s:g} s is over"
        over = ("database.fault.at_s", "workload.duration_s", "workload.steady_state", *_KINDS)
        yield Problem("database.fault.at_s", what, "an earlier fault, or a longer duration_s", over)
    yield from _storage_conflicts(experiment)
    if database.url is not None:
        yield from _attached_conflicts(experiment)


def _storage_conflicts(experiment: Experiment) -> Iterator[Problem]:
    """Fields of the storage that a server has no use for."""
    storage = experiment.storage
    defaults = type(storage).model_fields
    for name, why in _FILES_ONLY:
        if name == "size" and (isinstance(storage, ModelledStorage) or isinstance(experiment.cache, FlashCache)):
            continue  # how large the served device is, or the cached file
        if name in defaults and getattr(storage, name) != defaults[name].default:
            yield Problem(f"storage.{name}", f"has no meaning with a server: {why}", "take it out", _about(name))


def _attached_conflicts(experiment: Experiment) -> Iterator[Problem]:
    """Fields of files that flatwater keeps for its own servers only."""
    storage = experiment.storage
    defaults = type(storage).model_fields
    for name in ("path", "keep"):
        if getattr(storage, name) != defaults[name].default:
            what = "flatwater keeps no files for a server that it did not start (database.url)"
            yield Problem(f"storage.{name}", what, "take it out, or take out the url", _about(name, "database.url"))


def _observed_conflicts(experiment: Experiment) -> Iterator[Problem]:
    """What has no meaning for a server that is only watched."""
    database = experiment.database
    if not isinstance(database, Server) or experiment.in_virtual_time:
        return
    if database.load:
        what = "nothing is loaded into a server that is only observed"
        yield Problem("database.load", what, "take it out", ("database.load", *_KINDS))
    yield from _storage_conflicts(experiment)
    yield from _attached_conflicts(experiment)


def _model_conflicts(experiment: Experiment, database: InnodbModel, workload: Transactions) -> Iterator[Problem]:
    """Fields that conflict with a modelled server."""
    yield from database.workload_conflicts(workload)
    if not experiment.in_virtual_time:
        return
    defaults = type(experiment.storage).model_fields
    for name in ("size", "fill", "exclusive_writes"):
        if getattr(experiment.storage, name) != defaults[name].default:
            what = "has no meaning with a modelled server: how large a database is follows from the workload"
            yield Problem(f"storage.{name}", what, "take it out", _about(name))


def _about(name: str, *others: str) -> tuple[str, ...]:
    return (f"storage.{name}", *others, *_KINDS)


def _time_conflicts(experiment: Experiment) -> Iterator[Problem]:
    interval = experiment.record.interval_s
    timed = "round_s" if experiment.workload.steady_state == "snia" else "duration_s"
    length_s = getattr(experiment.workload, timed)
    if length_s < interval:
        what = f"{length_s:g} s are shorter than one interval of the record ({interval:g} s)"
        rests_on = (f"workload.{timed}", "record.interval_s", "workload.steady_state")
        yield Problem(f"workload.{timed}", what, "set record.interval_s (0.1 or more)", rests_on)
