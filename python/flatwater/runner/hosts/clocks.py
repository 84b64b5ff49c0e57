"""The clocks of all hosts of a run, asked before it, in it and after it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from flatwater.errors import FlatwaterError
from flatwater.runner.executors.scheduler import UNREACHABLE
from flatwater.runner.hosts import generator
from flatwater.runner.hosts.clock import EXCHANGES, Drift, Exchange, Offset, drift_between, estimate
from flatwater.runner.hosts.cluster import Cluster, Host

#: How often the clocks are asked while the load runs: a bad quartz drifts 100 ppm, which is 1 ms in this time.
ASK_EVERY_S = 10.0


@dataclass
class HostClock:
    """What is known of one host's clocks."""

    #: Estimates of its CLOCK_MONOTONIC against ours, in their order.
    offsets: list[Offset] = field(default_factory=list)
    #: Of its clock of the day, before the run.
    wall: Offset | None = None

    @property
    def latest(self) -> Offset:
        """The last estimate."""
        return self.offsets[-1]

    @property
    def moved_ns(self) -> int:
        """How far it got ahead of us since the first estimate."""
        return self.offsets[-1].offset_ns - self.offsets[0].offset_ns

    @property
    def drift(self) -> Drift | None:
        """From the first estimate to the last one; None if there is only one."""
        return drift_between(self.offsets[0], self.offsets[-1])


class Clocks:
    """Asks the hosts for their time."""

    def __init__(self, cluster: Cluster, hosts: list[Host]) -> None:
        self._cluster = cluster
        self._hosts = hosts
        self._over = threading.Event()
        self._lock = threading.Lock()
        self.of_hosts = [HostClock() for _ in hosts]

    def ask(self) -> None:
        """Asks each host, all at the same time. Errors: FlatwaterError if one does not answer."""
        with ThreadPoolExecutor(len(self._hosts), thread_name_prefix="load-clock") as pool:
            list(pool.map(self._ask_one, range(len(self._hosts))))

    def _ask_one(self, number: int) -> None:
        monotonic, wall = [], []
        host = self._hosts[number]
        for _ in range(EXCHANGES):
            asked_ns, wall_asked_ns = time.monotonic_ns(), time.time_ns()
            try:
                told = self._cluster.call(host, generator.tell_clock)
            except UNREACHABLE as error:
                raise FlatwaterError(f"load host {host.name} does not tell its time: {error}") from None
            answered_ns, wall_answered_ns = time.monotonic_ns(), time.time_ns()
            monotonic.append(Exchange(asked_ns, told["monotonic_ns"], answered_ns))
            wall.append(Exchange(wall_asked_ns, told["wall_ns"], wall_answered_ns))
        clock = self.of_hosts[number]
        with self._lock:
            clock.offsets.append(estimate(monotonic))
            clock.wall = clock.wall or estimate(wall)

    def keep_asking(self) -> None:
        """Asks from time to time until `close`, in a thread of its own. A host that is silent is told by others."""

        def ask() -> None:
            while not self._over.wait(ASK_EVERY_S):
                with suppress(FlatwaterError):
                    self.ask()

        threading.Thread(target=ask, name="load-clocks", daemon=True).start()

    def ask_last(self, patience_s: float) -> None:
        """Asks once more, for no longer than `patience_s`: then the last estimate is an earlier one."""

        def ask() -> None:
            with suppress(FlatwaterError):
                self.ask()

        last = threading.Thread(target=ask, name="load-clocks", daemon=True)
        last.start()
        last.join(patience_s)

    def close(self) -> None:
        """Asks no more."""
        self._over.set()
