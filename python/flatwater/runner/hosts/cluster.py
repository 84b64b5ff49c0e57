"""The load hosts as a run reaches them: tasks, calls and events of a dask cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from flatwater.errors import FlatwaterError
from flatwater.runner.executors import site
from flatwater.runner.executors.scheduler import RESOURCE, UNREACHABLE, workers_of
from flatwater.runner.hosts import generator
from flatwater.runner.hosts.messages import Errand, News

T = TypeVar("T")


@dataclass(frozen=True)
class Host:
    """A machine that makes a part of the load."""

    #: Its name or IP address, as dask knows it.
    name: str
    #: The address of its worker.
    worker: str


class Cluster:
    """The workers of a scheduler, through its client."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._futures: list[Any] = []

    def submit(self, host: Host, errand: Errand) -> None:
        """Starts a load generator on a host, and nowhere else. Errors: FlatwaterError without a scheduler."""
        try:
            future = self._client.submit(
                generator.generate,
                site.facts(),
                pickle.dumps(errand),
                key=f"flatwater-load-{errand.key}",
                workers=[host.worker],
                allow_other_workers=False,
                resources={RESOURCE: 1},
                retries=0,
                pure=False,
            )
        except UNREACHABLE as error:
            raise FlatwaterError(f"the scheduler does not take the load of {host.name}: {error}") from None
        self._futures.append(future)

    def refusals(self) -> list[str]:
        """The errors of generators that ended with one."""
        return [str(future.exception(timeout=1)) for future in self._futures if future.status == "error"]

    def call(self, host: Host, function: Callable[..., T], *arguments: object) -> T:
        """The result of a function on a host. Errors: one of UNREACHABLE, or what the function raises."""
        results: dict[str, T] = self._client.run(function, *arguments, workers=[host.worker])
        return results[host.worker]

    def call_all(
        self, hosts: list[Host], function: Callable[..., T], arguments: Sequence[tuple[object, ...]]
    ) -> list[T]:
        """The results of a function on several hosts at the same time. Errors: as `call`."""
        with ThreadPoolExecutor(max(1, len(hosts)), thread_name_prefix="load-host") as pool:
            return list(pool.map(lambda own: self.call(own[0], function, *own[1]), zip(hosts, arguments, strict=True)))

    def listen(self, topic: str, handler: Callable[[News], None]) -> None:
        """Hands the news of a topic to a handler, in a thread of the client."""
        self._client.subscribe_topic(topic, lambda event: handler(event[1]))

    def present(self) -> frozenset[str]:
        """The addresses of the workers that the scheduler knows. Errors: FlatwaterError without a scheduler."""
        return frozenset(workers_of(self._client))

    def release(self, topic: str) -> None:
        """Ends the generators, and the news of a topic."""
        with suppress(*UNREACHABLE):
            self._client.unsubscribe_topic(topic)
        with suppress(*UNREACHABLE):
            self._client.cancel(self._futures, force=True)
        self._futures = []
