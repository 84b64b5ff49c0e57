"""A workload that runs: the engine's runs, and the watching of a load that others make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from flatwater.errors import UserError
from flatwater.plan.fileio import RealFileio
from flatwater.plan.server import RealDatabase
from flatwater.results.load_host import LoadHost

if TYPE_CHECKING:
    from flatwater._engine import Interval
    from flatwater.experiment import Experiment
    from flatwater.results.facts import MachineFacts
    from flatwater.runner.stack.layers.shared import Shared


class Running(Protocol):
    """What `Run` of the engine does, for whoever records it."""

    def next_interval(self, timeout_s: float) -> Interval | None:
        """The next interval; None if it is not over yet after `timeout_s`. Raises StopIteration after the last one."""
        ...

    def stop(self) -> None:
        """Asks for the end."""
        ...

    def failure(self) -> str | None:
        """The first failure; None if there was none."""
        ...

    def ended_by(self) -> str | None:
        """The failure that ended the run; None if it went on after each."""
        ...

    def warning(self) -> str | None:
        """A doubt about what was measured; None if there is none."""
        ...


class RunningOnHosts(Running, Protocol):
    """A load that several hosts make together."""

    def describe(self) -> list[LoadHost]:
        """Each host: its share, its clock, and what it did."""
        ...

    def close(self) -> None:
        """Ends what still runs on the hosts."""
        ...


class LoadHosts(Protocol):
    """The hosts that make the load of cells, if it is not this machine."""

    def open(self, experiment: Experiment) -> list[MachineFacts]:
        """Connects to the hosts, and checks that they can make the load; the facts of their machines.

        Errors: UserError, FlatwaterError.
        """
        ...

    def close(self) -> None:
        """Disconnects."""
        ...

    def require_same(self, target: Shared, hosts: int) -> None:
        """Checks that so many hosts see a target, before anything is written to it.

        Errors: UserError that names a host on which the path leads to another storage; FlatwaterError.
        """
        ...

    def start(
        self, plan: RealDatabase | RealFileio, hosts: int, hurried: Callable[[], bool], target: Shared | None = None
    ) -> RunningOnHosts:
        """Starts a load on so many hosts, all at one instant. `hurried` tells whether the user asked to stop. A fileio
        load has a `target`, which each host must see.

        Errors: EngineError if a host cannot, FlatwaterError, Interrupted.
        """
        ...


def require_hosts(cell: Experiment, hosts: LoadHosts | None) -> None:
    """Checks that it is known which hosts make the load of a cell, if others do. Errors: UserError."""
    if cell.load is not None and hosts is None:
        hint = "flatwater run --load-on tcp://SCHEDULER:8786 of their dask workers; or take out [load]"
        raise UserError("other hosts make the load, and nothing says which", where="load.hosts", hint=hint)


@dataclass(frozen=True)
class Observation:
    """The plan of a workload that is only watched. It needs no engine."""

    interval_s: float
    #: What one throughput counts: `tps` or `qps`.
    unit: str
