"""Many machines: cells are tasks of a dask scheduler, and their files come back into one result folder.

Modelled cells go to all workers, in batches. Real cells need the worker resource `flatwater`, of which each host has
one. They start when all modelled cells have finished. When a worker is lost, dask runs its tasks again on another.
"""

from __future__ import annotations

import logging
import pickle
import queue
import socket
import time
import uuid
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import Any, cast
from urllib.parse import urlsplit

from distributed import Client, KilledWorker
from distributed.client import ClosedClientError

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import Experiment
from flatwater.owned import write_atomic
from flatwater.results import Cell
from flatwater.results.facts import MachineFacts
from flatwater.runner.executors import site
from flatwater.runner.executors.executor import Course, Executor, is_real_cell
from flatwater.runner.progress import Reporter
from flatwater.runner.resuming import set_aside
from flatwater.runner.summary import keep_without_running

#: The worker resource that a real cell needs: `dask worker ADDRESS --resources "flatwater=1"`.
RESOURCE = "flatwater"
#: The default port of a scheduler.
PORT = 8786
#: Seconds that a scheduler has to answer.
CONNECT_S = 5.0
#: Seconds that workers have to send their facts.
ANSWER_S = 30.0
#: Cells of the largest batch, and the part of all cells that a batch is for each worker thread (1/n).
BATCH_CELLS_MAX = 64
BATCH_PART = 8
#: Seconds that the client waits before it checks for Ctrl-C.
POLL_S = 0.25
#: Seconds without contact to the scheduler after which the run gives up.
SILENCE_S = 5.0

#: Exceptions of a client that has lost its scheduler.
_UNREACHABLE = (OSError, TimeoutError, RuntimeError, ValueError, CancelledError, ClosedClientError)

#: The scheduler's description of each worker.
Workers = Mapping[str, Mapping[str, Any]]


class DaskExecutor(Executor):
    """Runs cells on the workers of the scheduler at `address`."""

    def __init__(self, address: str) -> None:
        self._address = address
        #: A `Client`, which has no type annotations.
        self._client: Any = None
        self._facts = site.facts()

    def open(self, experiment: Experiment, reporter: Reporter) -> MachineFacts:
        _be_quiet()
        _require_listening(self._address)
        _check_certificates(self._address)
        try:
            make: Any = Client
            self._client = make(self._address, timeout=CONNECT_S, set_as_default=False, name="flatwater")
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            raise FlatwaterError(
                f"what answers at {self._address} is no dask scheduler ({error})",
                where="--on",
                hint="start one with: dask scheduler; tls:// needs certificates in dask's configuration",
            ) from None
        workers = _workers(self._client)
        machines = self._check_workers(workers)
        if any(is_real_cell(experiment, index) for index in range(experiment.sweep.positions)):
            _check_places(self._address, workers)
        self._check_devices(experiment)
        return {"executor": "dask", "workers": machines}

    def _check_workers(self, workers: Workers) -> list[MachineFacts]:
        """Checks that all workers run the same flatwater as this process; returns the facts of their machines."""
        if not workers:
            hint = f"start some: dask worker {self._address} --nthreads 1"
            raise FlatwaterError("the scheduler has no workers", where=self._address, hint=hint)
        try:
            facts = self._client.run(site.facts, on_error="return")
        except (OSError, TimeoutError) as error:
            raise FlatwaterError(f"cannot ask the workers: {error}", where=self._address) from None
        machines = []
        for worker, theirs in sorted(facts.items()):
            if not isinstance(theirs, dict):
                what = f"worker {worker} has no flatwater that could be asked for its version ({theirs})"
                raise FlatwaterError(what, hint="install the same version everywhere, and start the workers again")
            refused = site.refusal(worker, cast("site.WorkerFacts", theirs), self._facts)
            if refused is not None:
                raise refused
            machines.append(theirs["machine"])
        return machines

    def _check_devices(self, experiment: Experiment) -> None:
        """Checks that all workers have the same files of the user's own devices. Errors: FlatwaterError."""
        swept = [values["storage.device"] for values in experiment.sweep.dimensions if "storage.device" in values]
        written = swept[0] if swept else [getattr(experiment.storage, "device", None)]
        paths = [
            device for device in written if isinstance(device, str) and ("/" in device or device.endswith(".toml"))
        ]
        if not paths:
            return
        ours = site.digests(paths)
        for worker, theirs in sorted(self._client.run(site.digests, paths).items()):
            for path in paths:
                if theirs[path] != ours[path]:
                    what = "has another file there" if theirs[path] else "has no such file"
                    hint = "copy it to the same path on all machines"
                    raise FlatwaterError(f"worker {worker} {what}", where=path, hint=hint)

    def run(self, course: Course) -> None:
        modelled, real = course.parted()
        for cells, alone in ((modelled, False), (real, True)):
            if cells and not course.interrupt.requested:
                _Round(self._client, course, self._facts, alone=alone).run(cells)
        if course.interrupt.requested:
            course.interrupted = "interrupted by the user"

    def close(self) -> None:
        if self._client is not None:
            with suppress(*_UNREACHABLE):
                self._client.close(timeout=2)


class _Round:
    """Cells of one kind: modelled or real. Those that do not run yet wait here."""

    def __init__(self, client: Any, course: Course, facts: site.WorkerFacts, *, alone: bool) -> None:
        self._client = client
        self._course = course
        self._facts = facts
        self._alone = alone
        self._topic = f"flatwater-{uuid.uuid4()}"
        # Modelled cells are too many and too short to show the progress of each.
        self._errand = pickle.dumps((self._topic if alone else "", course.experiment))
        self._under_way: dict[Any, Sequence[Cell]] = {}
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._lines: dict[int, str] = {}
        self._workers = frozenset(_workers(client))
        self._contact_at = time.monotonic()

    def run(self, cells: Sequence[Cell]) -> None:
        waiting = deque(self._batches(cells))
        with self._listening():
            try:
                while (waiting or self._under_way) and not self._course.interrupt.requested:
                    while waiting and len(self._under_way) < self._window():
                        self._submit(waiting.popleft())
                    self._collect()
                    self._report_workers()
                    self._course.tell(len(self._under_way), [*dict(self._lines).values()])
            finally:
                with suppress(*_UNREACHABLE):
                    self._client.cancel(list(self._under_way), force=True)

    def _batches(self, cells: Sequence[Cell]) -> Iterator[Sequence[Cell]]:
        threads = sum(int(worker.get("nthreads", 1)) for worker in _workers(self._client).values())
        many = 1 if self._alone else min(BATCH_CELLS_MAX, max(1, len(cells) // (BATCH_PART * max(1, threads))))
        return (cells[first : first + many] for first in range(0, len(cells), many))

    def _window(self) -> int:
        """The number of tasks to submit at once. Of real cells one for each host, to keep their order."""
        if not self._alone:
            return 10**9
        return max(1, len(_places(_workers(self._client))))

    def _submit(self, batch: Sequence[Cell]) -> None:
        try:
            future = self._client.submit(
                site.run_cells,
                self._facts,
                self._errand,
                [cell.index for cell in batch],
                key=f"flatwater-{batch[0].index}-{uuid.uuid4()}",
                resources={RESOURCE: 1} if self._alone else None,
                pure=False,
            )
        except _UNREACHABLE:
            raise _lost_scheduler() from None
        if self._alone and any(cell.journal.exists() for cell in batch):
            label = batch[0].label
            self._course.reporter.note(f"{label}: a worker cannot go on with what was measured here, and measures anew")
        self._under_way[future] = batch
        future.add_done_callback(self._finished.put)

    def _collect(self) -> None:
        """Waits a little for a task to end, and keeps its cells."""
        try:
            future = self._finished.get(timeout=POLL_S)
        except queue.Empty:
            return
        batch = self._under_way.pop(future)
        try:
            delivered: list[site.Delivery] = future.result(timeout=ANSWER_S)
        except KilledWorker:
            self._split_or_fail(batch)
        except (CancelledError, OSError, TimeoutError, ClosedClientError) as error:
            if future.status == "error":
                raise FlatwaterError(f"a worker cannot run cells: {error}", hint="see the workers' logs") from None
            raise _lost_scheduler() from None
        else:
            for delivery, cell in zip(delivered, batch, strict=True):
                self._lines.pop(cell.index, None)
                self._make_room(cell)
                _store(cell, delivery)
                self._course.keep(delivery.summary, delivery.took)
        future.release()

    def _make_room(self, cell: Cell) -> None:
        """Sets aside an earlier measurement of a cell: a worker cannot continue it, and its own takes the folder."""
        aside = set_aside(cell)
        if aside is not None:
            self._course.reporter.note(f"{cell.label}: what was measured before elsewhere is kept in {aside}")

    def _split_or_fail(self, batch: Sequence[Cell]) -> None:
        """Several workers died in a batch. Its cells run one by one, to find the one that kills workers."""
        if len(batch) > 1:
            for cell in batch:
                self._submit([cell])
            return
        (cell,) = batch
        error = "every worker that ran it was lost (hint: out of memory? see the workers' logs)"
        course = self._course
        course.keep(keep_without_running(cell, course.experiment, "failed", error))

    def _report_workers(self) -> None:
        if self._client.status == "running":
            self._contact_at = time.monotonic()
        elif time.monotonic() - self._contact_at > SILENCE_S:
            raise _lost_scheduler()
        now = frozenset(_workers(self._client))
        for worker in sorted(self._workers - now):
            self._course.reporter.note(f"worker {worker} is lost: its cells run again elsewhere")
        for worker in sorted(now - self._workers):
            self._course.reporter.note(f"worker {worker} joined")
        if self._workers and not now:
            self._course.reporter.note("no worker is left: waiting for one (Ctrl-C ends the run)")
        self._workers = now

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Receives the progress of real cells."""
        if not self._alone:
            yield
            return
        self._client.subscribe_topic(self._topic, self._show_progress)
        try:
            yield
        finally:
            with suppress(*_UNREACHABLE):
                self._client.unsubscribe_topic(self._topic)

    def _show_progress(self, event: tuple[float, Mapping[str, Any]]) -> None:
        _, progress = event
        cell = self._course.result.cells[progress["cell"]]
        if any(cell is one for batch in list(self._under_way.values()) for one in batch):
            self._lines[cell.index] = f"{cell.label}: {progress['text']} (on {progress.get('worker', 'a worker')})"


def _require_listening(address: str) -> None:
    """Checks that the address accepts connections: dask itself would try again until its time is over.

    Errors: UserError, FlatwaterError.
    """
    try:
        url = urlsplit(address)
        host, port = url.hostname, url.port or PORT
    except ValueError:
        host, port = None, 0
    if not host:
        raise UserError(f"{address} is no address", where="--on", hint=f"tcp://HOST:{PORT}")
    try:
        socket.create_connection((host, port), CONNECT_S).close()
    except OSError as error:
        raise FlatwaterError(
            f"no dask scheduler answers at {address}: {error.strerror or error}",
            where="--on",
            hint="start one with: dask scheduler",
        ) from None


def _check_certificates(address: str) -> None:
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
        raise UserError(what, where="--on", hint=hint) from None
    if context is None:
        raise UserError("tls:// needs certificates, and dask's configuration names none", where="--on", hint=hint)


def _workers(client: Any) -> Workers:
    """The scheduler's workers by address. They may be a moment old."""
    try:
        found: Workers = client.scheduler_info(n_workers=-1).get("workers", {})
    except _UNREACHABLE:
        raise _lost_scheduler() from None
    return found


def _lost_scheduler() -> FlatwaterError:
    return FlatwaterError("the scheduler is gone; what was measured is kept")


def _places(workers: Workers) -> list[str]:
    """The addresses of the workers that take real cells."""
    return [name for name, worker in workers.items() if worker.get("resources", {}).get(RESOURCE, 0) >= 1]


def _check_places(address: str, workers: Workers) -> None:
    """Checks that each host has at most one worker for real cells, of one cell at a time. Errors: FlatwaterError."""
    places = _places(workers)
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


def _store(cell: Cell, delivery: site.Delivery) -> None:
    """Writes the files from a worker into the result. The summary marks a cell as finished, so it comes last."""
    own = f"cells/{cell.folder.name}"
    for name, content in delivery.files.items():
        path = PurePosixPath(name)
        if (
            path.is_absolute()
            or ".." in path.parts
            or path.parts[:2]
            not in (
                ("cells", cell.folder.name),
                ("servers", cell.folder.name),
            )
        ):
            raise FlatwaterError(f"a worker sent a file that is none of its cell: {name!r}")
        if name != f"{own}/summary.json":
            target = cell.result.path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(target, content)
    cell.folder.mkdir(parents=True, exist_ok=True)
    write_atomic(cell.folder / "summary.json", delivery.files[f"{own}/summary.json"].decode())


def _be_quiet() -> None:
    """Silences dask's log: this run reports lost connections itself."""
    for name in [*logging.root.manager.loggerDict, "distributed", "tornado"]:
        if name.split(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
