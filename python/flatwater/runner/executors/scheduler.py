"""A dask scheduler and its workers, as its clients see them: reached, checked, and asked for what they have."""

from __future__ import annotations

import logging
import socket
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import CancelledError
from typing import Any, cast
from urllib.parse import urlsplit

from distributed import Client
from distributed.client import ClosedClientError

from flatwater.errors import FlatwaterError, UserError
from flatwater.results.facts import MachineFacts
from flatwater.runner.executors import site

#: The worker resource that a real cell needs: `dask worker ADDRESS --resources "flatwater=1"`.
RESOURCE = "flatwater"
#: The default port of a scheduler.
PORT = 8786
#: Seconds that a scheduler has to answer.
CONNECT_S = 5.0
#: Seconds that workers have to send their facts.
ANSWER_S = 30.0

#: Exceptions of a client that has lost its scheduler.
UNREACHABLE = (OSError, TimeoutError, RuntimeError, ValueError, CancelledError, ClosedClientError)

#: The scheduler's description of each worker.
Workers = Mapping[str, Mapping[str, Any]]


def connect(address: str, where: str) -> Any:
    """A client of the scheduler at an address, which the option `where` gave. Errors: UserError, FlatwaterError."""
    _be_quiet()
    _require_listening(address, where)
    _check_certificates(address, where)
    try:
        make: Any = Client
        client = make(address, timeout=CONNECT_S, set_as_default=False, name="flatwater")
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise FlatwaterError(
            f"what answers at {address} is no dask scheduler ({error})",
            where=where,
            hint="start one with: dask scheduler; tls:// needs certificates in dask's configuration",
        ) from None
    # Questions that a client leaves behind when it closes fail later, and asyncio would write a traceback for each.
    client.loop.asyncio_loop.set_exception_handler(lambda loop, context: None)
    return client


def workers_of(client: Any) -> Workers:
    """The scheduler's workers by address. They may be a moment old."""
    try:
        found: Workers = client.scheduler_info(n_workers=-1).get("workers", {})
    except UNREACHABLE:
        raise lost_scheduler() from None
    return found


def lost_scheduler() -> FlatwaterError:
    """The error of a run whose scheduler does not answer any more."""
    return FlatwaterError("the scheduler is gone; what was measured is kept")


def check_workers(client: Any, address: str, workers: Workers, ours: site.WorkerFacts) -> list[MachineFacts]:
    """Checks that all workers run the same flatwater as this process; returns the facts of their machines."""
    if not workers:
        hint = f"start some: dask worker {address} --nthreads 1"
        raise FlatwaterError("the scheduler has no workers", where=address, hint=hint)
    try:
        facts = client.run(site.facts, on_error="return")
    except (OSError, TimeoutError) as error:
        raise FlatwaterError(f"cannot ask the workers: {error}", where=address) from None
    machines = []
    for worker, theirs in sorted(facts.items()):
        if not isinstance(theirs, dict):
            what = f"worker {worker} has no flatwater that could be asked for its version ({theirs})"
            raise FlatwaterError(what, hint="install the same version everywhere, and start the workers again")
        refused = site.refusal(worker, cast("site.WorkerFacts", theirs), ours)
        if refused is not None:
            raise refused
        machines.append(theirs["machine"])
    return machines


def places_of(workers: Workers) -> list[str]:
    """The addresses of the workers that take real cells."""
    return [name for name, worker in workers.items() if worker.get("resources", {}).get(RESOURCE, 0) >= 1]


def check_places(address: str, workers: Workers) -> None:
    """Checks that each host has at most one worker for real cells, of one cell at a time. Errors: FlatwaterError."""
    places = places_of(workers)
    start = f'dask worker {address} --nthreads 1 --resources "{RESOURCE}=1"'
    if not places:
        raise FlatwaterError("no worker takes real cells", where=address, hint=f"start one on each host: {start}")
    for name in places:
        if workers[name]["resources"][RESOURCE] >= 2:
            what = f"worker {name} takes {workers[name]['resources'][RESOURCE]:g} real cells at once"
            raise FlatwaterError(what, hint=f"they would disturb each other: {start}")
    host, many = Counter(workers[name]["host"] for name in places).most_common(1)[0]
    if many > 1:
        what = f"{many} workers on the host {host} take real cells, which would disturb each other"
        raise FlatwaterError(what, hint="one a host: start the others without --resources")


def _require_listening(address: str, where: str) -> None:
    """Checks that the address accepts connections: dask itself would try again until its time is over.

    Errors: UserError, FlatwaterError.
    """
    try:
        url = urlsplit(address)
        host, port = url.hostname, url.port or PORT
    except ValueError:
        host, port = None, 0
    if not host:
        raise UserError(f"{address} is no address", where=where, hint=f"tcp://HOST:{PORT}")
    try:
        socket.create_connection((host, port), CONNECT_S).close()
    except OSError as error:
        raise FlatwaterError(
            f"no dask scheduler answers at {address}: {error.strerror or error}",
            where=where,
            hint="start one with: dask scheduler",
        ) from None


def _check_certificates(address: str, where: str) -> None:
    """Checks that there are certificates for TLS: without them, a dask client fails in an unclear way.

    Errors: UserError.
    """
    if not address.startswith("tls://"):
        return
    hint = "distributed.comm.tls: ca-file, client.cert and client.key; docs/sweeps.md has the commands"
    try:
        from distributed.security import Security

        make: Any = Security
        context = make().get_connection_args("client").get("ssl_context")
    except (OSError, ValueError, TypeError) as error:
        what = f"the certificates that dask's configuration names cannot be used: {error}"
        raise UserError(what, where=where, hint=hint) from None
    if context is None:
        raise UserError("tls:// needs certificates, and dask's configuration names none", where=where, hint=hint)


def _be_quiet() -> None:
    """Silences dask's log: this run reports lost connections itself."""
    for name in [*logging.root.manager.loggerDict, "distributed", "tornado"]:
        if name.split(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
