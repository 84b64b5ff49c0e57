"""What a load that other hosts make cannot do."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from flatwater.experiment.database import Server
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.load_hosts import Load
from flatwater.experiment.problem import Problem
from flatwater.experiment.storage import FileStorage
from flatwater.experiment.workload import Fileio, Oltp, QueryLog, Replay, Sql
from flatwater.experiment.workload.transactions import Transactions

_KINDS = ("workload.kind", "database.kind", "storage.kind")
_FIELD = "load.hosts"


def load_conflicts(experiment: Experiment) -> Iterator[Problem]:
    """Loads that cannot be divided, and servers that other hosts cannot reach."""
    load, workload = experiment.load, experiment.workload
    if load is None:
        return
    if experiment.in_virtual_time:
        if experiment.twin is None:
            what = "has no meaning on modelled layers: their load is computed, and no host makes it"
            yield Problem(_FIELD, what, "take out [load]", (_FIELD, *_KINDS))
        return
    if isinstance(workload, Fileio) and not isinstance(workload, Replay):
        yield from _fileio_conflicts(experiment, workload, load)
        return
    if not isinstance(workload, Transactions) or isinstance(workload, QueryLog):
        what = f"a load of the kind {workload.kind} runs on this machine only"
        yield Problem(
            _FIELD, what, "take out [load]; tpcc, oltp, sql and fileio run on several hosts", (_FIELD, *_KINDS)
        )
        return
    if workload.connections < load.hosts:
        what = f"{workload.connections} connections are too few for {load.hosts} hosts"
        yield Problem(_FIELD, what, "at least one connection a host", (_FIELD, "workload.connections"))
    if isinstance(workload, Oltp) and workload.mode == "insert" and not workload.auto_inc and load.hosts > 1:
        what = "hosts that number the rows themselves would insert the same ids"
        about = (_FIELD, "workload.mode", "workload.auto_inc")
        yield Problem(_FIELD, what, "auto_inc = true, or hosts = 1", about)
    if isinstance(workload, Sql) and load.hosts > 1 and (counted := workload.drawn_sequences):
        what = f"hosts that count the sequence {counted[0]} themselves would draw the same numbers"
        hint = "numbers of the server (AUTO_INCREMENT, UUID_SHORT()), or hosts = 1"
        yield Problem(_FIELD, what, hint, (_FIELD, "workload.parameters", "workload.transactions"))
    yield from _address_conflicts(experiment)


def _fileio_conflicts(experiment: Experiment, workload: Fileio, load: Load) -> Iterator[Problem]:
    """What hosts would have to tell each other before each request, and storage that only this machine has."""
    if workload.threads < load.hosts:
        what = f"{workload.threads} threads are too few for {load.hosts} hosts"
        yield Problem(_FIELD, what, "at least one thread a host", (_FIELD, "workload.threads"))
    if workload.mode.startswith("seq") and load.hosts > 1:
        what = f"all threads of {workload.mode} go on from one position, which hosts cannot share"
        yield Problem(_FIELD, what, "a mode with random addresses, or hosts = 1", (_FIELD, "workload.mode"))
    if workload.verify and workload.read_fraction < 1:
        what = "which block has which stamp is known only on the host that wrote it, so nothing could verify the writes"
        about = (_FIELD, "workload.verify", "workload.mode", "workload.read_pct")
        yield Problem(_FIELD, what, "verify = false, or only reads, or take out [load]", about)
    if not isinstance(experiment.storage, FileStorage):
        what = "an emulated device is served on this machine, and other hosts cannot reach it"
        yield Problem(_FIELD, what, "a storage.path that all hosts see, or take out [load]", (_FIELD, "storage.kind"))
    elif experiment.storage.fault is not None and load.hosts > 1:
        what = "a fault comes after a number of requests, and each host would count its own"
        yield Problem(_FIELD, what, "take out storage.fault, or hosts = 1", (_FIELD, "storage.fault"))
    if experiment.any_cache is not None:
        what = "the cache is served on this machine, and other hosts cannot reach it"
        yield Problem(_FIELD, what, "take out [cache] or [load]", (_FIELD, "cache.kind", "cache.enabled"))


def _address_conflicts(experiment: Experiment) -> Iterator[Problem]:
    database = experiment.database
    if not isinstance(database, Server):
        return
    about = (_FIELD, "database.url", *_KINDS)
    address = database.address
    if address is None:
        what = "a server that flatwater starts listens on a socket of its own machine: other hosts cannot reach it"
        yield Problem(_FIELD, what, "start the server yourself, and name it: database.url = mysql://...", about)
    elif address.socket is not None:
        what = "a socket is reached on its own machine only, not from other hosts"
        yield Problem(_FIELD, what, "database.url with the server's host and port", about)
    elif _is_loopback(address.host):
        what = f"{address.host} is another machine on each host"
        yield Problem(_FIELD, what, "database.url with the address that the hosts reach the server by", about)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".").rpartition(".")[2] == "localhost"
