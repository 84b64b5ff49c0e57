"""The hosts of a scheduler that make the load of cells: `run --load-on`."""

from __future__ import annotations

import ipaddress
import pickle
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from flatwater.engine_json import Json, to_json
from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import Experiment
from flatwater.plan.fileio import RealFileio
from flatwater.plan.server import RealDatabase
from flatwater.results.facts import MachineFacts
from flatwater.runner.executors import site
from flatwater.runner.executors.scheduler import (
    RESOURCE,
    UNREACHABLE,
    check_places,
    check_workers,
    connect,
    places_of,
    workers_of,
)
from flatwater.runner.hosts import generator
from flatwater.runner.hosts.cluster import Cluster, Host
from flatwater.runner.hosts.division import fileio_parts_of, parts_of
from flatwater.runner.hosts.messages import Errand, FilesOfHost
from flatwater.runner.hosts.running import HostState, RunOnHosts
from flatwater.runner.stack.layers.running import RunningOnHosts
from flatwater.runner.stack.layers.shared import Shared

#: The option that names the scheduler.
OPTION = "--load-on"


class DaskLoadHosts:
    """The workers of the scheduler at `address` that take real cells, one a host."""

    def __init__(self, address: str) -> None:
        self._address = address
        #: A `Client`, which has no type annotations.
        self._client: Any = None
        self._hosts: list[Host] = []

    def open(self, experiment: Experiment) -> list[MachineFacts]:
        """Connects to the hosts and checks that they can make the load; returns the facts of their machines.

        Errors: UserError, FlatwaterError.
        """
        needed = _most_hosts(experiment)
        self._client = connect(self._address, OPTION)
        workers = workers_of(self._client)
        check_places(self._address, workers)
        hosts = [Host(str(workers[place]["host"]), place) for place in places_of(workers)]
        self._hosts = sorted(hosts, key=lambda host: _order(host.name))
        if len(self._hosts) < needed:
            what = f"the load runs on {needed} hosts, and the scheduler has {len(self._hosts)} that take one"
            hint = f'start a worker on each: dask worker {self._address} --nthreads 1 --resources "{RESOURCE}=1"'
            raise FlatwaterError(what, where="load.hosts", hint=hint)
        own = {host.worker: workers[host.worker] for host in self._hosts[:needed]}
        return check_workers(self._client, self._address, own, site.facts())

    def require_same(self, target: Shared, hosts: int) -> None:
        """Checks that so many hosts see a target, before anything is written to it.

        Errors: UserError that names a host on which the path leads to another storage; FlatwaterError.
        """
        asked = self._hosts[:hosts]
        try:
            told = Cluster(self._client).call_all(asked, generator.look_for, [(pickle.dumps(target),)] * hosts)
        except UNREACHABLE as error:
            raise FlatwaterError(f"a load host does not tell what it sees at {target.path}: {error}") from None
        for host, why_not in zip(asked, told, strict=True):
            if why_not is not None:
                raise UserError(f"load host {host.name}: {why_not}")

    def start(
        self, plan: RealDatabase | RealFileio, hosts: int, hurried: Callable[[], bool], target: Shared | None = None
    ) -> RunningOnHosts:
        """Starts a load on so many hosts, all at one instant. `hurried` tells whether the user asked to stop. A fileio
        load has a `target`, which each host must see.

        Errors: EngineError if a host cannot, FlatwaterError, Interrupted.
        """
        topic = f"flatwater-load-{uuid.uuid4()}"
        states = []
        for number, (host, own) in enumerate(zip(self._hosts[:hosts], _divided(plan, hosts, target), strict=True)):
            errand = Errand(f"{topic}-{number}", topic, number, own.work)
            states.append(HostState(host, errand, own.first, own.lanes, own.of, own.noun))
        run = RunOnHosts(Cluster(self._client), states, plan.interval_ms / 1e3, hurried)
        try:
            run.begin()
        except BaseException:
            run.close()
            raise
        return run

    def close(self) -> None:
        """Disconnects."""
        if self._client is not None:
            with suppress(*UNREACHABLE):
                self._client.close(timeout=2)


@dataclass(frozen=True)
class _Share:
    """The part of one host, and its lanes (sessions or threads) among those of all."""

    work: Json[RealDatabase] | FilesOfHost
    first: int
    lanes: int
    of: int
    noun: str


def _divided(plan: RealDatabase | RealFileio, hosts: int, target: Shared | None) -> list[_Share]:
    if isinstance(plan, RealDatabase):
        shares = [(part.part, part.connections, to_json(part)) for part in parts_of(plan, hosts)]
        return [_Share(work, own.first, many, own.of, "session") for own, many, work in shares if own is not None]
    assert target is not None, "a fileio load has files"
    files = [(part.part, part.threads, FilesOfHost(part, target)) for part in fileio_parts_of(plan, hosts)]
    return [_Share(work, own.first, many, own.of, "thread") for own, many, work in files if own is not None]


def _order(name: str) -> tuple[int, int, str]:
    """IP addresses by their numbers, then names."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return (9, 0, name)
    return (address.version, int(address), "")


def _most_hosts(experiment: Experiment) -> int:
    """The largest number of hosts of any cell."""
    swept = [values["load.hosts"] for values in experiment.sweep.dimensions if "load.hosts" in values]
    if not swept:
        return experiment.load.hosts if experiment.load is not None else 0
    return max(hosts for hosts in swept[0] if isinstance(hosts, int))


def make_load_hosts(address: str) -> DaskLoadHosts:
    """The load hosts for `--load-on`. Errors: UserError for what is no address of a scheduler."""
    if not address.startswith(("tcp://", "tls://")):
        hint = "a dask scheduler's address: tcp://HOST:8786, tls://HOST:8786"
        raise UserError(f"no load hosts at {address!r}", where=OPTION, hint=hint)
    return DaskLoadHosts(address)
