"""Many machines: cells are tasks of a dask scheduler, and their files come back into one result folder.

Modelled cells go to all workers, in batches. Real cells need the worker resource `flatwater`, of which each host has
one. They start when all modelled cells have finished. When a worker is lost, dask runs its tasks again on another.
"""

from __future__ import annotations

import pickle
import queue
import time
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import Any

from distributed import KilledWorker
from distributed.client import ClosedClientError

from flatwater.errors import FlatwaterError
from flatwater.experiment import Experiment
from flatwater.owned import write_atomic
from flatwater.results import Cell
from flatwater.results.facts import MachineFacts
from flatwater.results.result import ELSEWHERE, remove_cell
from flatwater.runner.executors import site
from flatwater.runner.executors.executor import Course, Executor, is_real_cell
from flatwater.runner.executors.relay import TOPIC, Received
from flatwater.runner.executors.scheduler import (
    ANSWER_S,
    RESOURCE,
    UNREACHABLE,
    check_places,
    check_workers,
    connect,
    lost_scheduler,
    places_of,
    workers_of,
)
from flatwater.runner.executors.shown import Shown
from flatwater.runner.progress import Reporter
from flatwater.runner.resuming import set_aside
from flatwater.runner.summary import keep_without_running

#: Cells of the largest batch, and the part of all cells that a batch is for each worker thread (1/n).
BATCH_CELLS_MAX = 64
BATCH_PART = 8
#: Seconds that the client waits before it checks for Ctrl-C.
POLL_S = 0.25
#: Seconds without contact to the scheduler after which the run gives up.
SILENCE_S = 5.0


class DaskExecutor(Executor):
    """Runs cells on the workers of the scheduler at `address`."""

    def __init__(self, address: str) -> None:
        self._address = address
        #: A `Client`, which has no type annotations.
        self._client: Any = None
        self._facts = site.facts()

    def open(self, experiment: Experiment, reporter: Reporter) -> MachineFacts:
        self._client = connect(self._address, "--on")
        workers = workers_of(self._client)
        machines = check_workers(self._client, self._address, workers, self._facts)
        if any(is_real_cell(experiment, index) for index in range(experiment.sweep.positions)):
            check_places(self._address, workers)
        self._check_devices(experiment)
        return {"executor": "dask", "workers": machines}

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
            with suppress(*UNREACHABLE):
                self._client.close(timeout=2)


class _Round:
    """Cells of one kind: modelled or real. Those that do not run yet wait here."""

    def __init__(self, client: Any, course: Course, facts: site.WorkerFacts, *, alone: bool) -> None:
        self._client = client
        self._course = course
        self._facts = facts
        self._alone = alone
        self._topic = f"flatwater-{uuid.uuid4()}"
        self._errand = pickle.dumps(site.Errand(self._topic if alone else "", self._topic, course.experiment))
        self._under_way: dict[Any, Sequence[Cell]] = {}
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._lines: dict[int, str] = {}
        self._shown = Shown(course, virtual=not alone)
        self._received = Received(self._topic, self._make_room, self._shown.add, course.reporter.note)
        self._workers = frozenset(workers_of(client))
        self._contact_at = time.monotonic()

    def run(self, cells: Sequence[Cell]) -> None:
        waiting = deque(self._batches(cells))
        with self._listening():
            try:
                while (waiting or self._under_way) and not self._course.interrupt.requested:
                    while waiting and len(self._under_way) < self._window():
                        self._submit(waiting.popleft())
                    self._collect()
                    self._received.keep(self._running())
                    self._report_workers()
                    self._course.tell(len(self._under_way), [*dict(self._lines).values()])
            finally:
                with suppress(*UNREACHABLE):
                    self._client.cancel(list(self._under_way), force=True)
                self._end_received()

    def _batches(self, cells: Sequence[Cell]) -> Iterator[Sequence[Cell]]:
        threads = sum(int(worker.get("nthreads", 1)) for worker in workers_of(self._client).values())
        many = 1 if self._alone else min(BATCH_CELLS_MAX, max(1, len(cells) // (BATCH_PART * max(1, threads))))
        return (cells[first : first + many] for first in range(0, len(cells), many))

    def _window(self) -> int:
        """The number of tasks to submit at once. Of real cells one for each host, to keep their order."""
        if not self._alone:
            return 10**9
        return max(1, len(places_of(workers_of(self._client))))

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
        except UNREACHABLE:
            raise lost_scheduler() from None
        if self._alone and any(cell.journal.exists() for cell in batch):
            label = batch[0].label
            self._course.reporter.note(
                f"{label}: a worker cannot go on with what was measured before, and measures anew"
            )
        self._under_way[future] = batch
        future.add_done_callback(self._finished.put)

    def _collect(self) -> None:
        """Waits a little for a task to end, and keeps its cells."""
        try:
            future = self._finished.get(timeout=POLL_S)
        except queue.Empty:
            return
        self._received.keep(self._running())
        batch = self._under_way.pop(future)
        try:
            delivered: list[site.Delivery] = future.result(timeout=ANSWER_S)
        except KilledWorker:
            self._split_or_fail(batch)
        except (CancelledError, OSError, TimeoutError, ClosedClientError) as error:
            if future.status == "error":
                raise FlatwaterError(f"a worker cannot run cells: {error}", hint="see the workers' logs") from None
            raise lost_scheduler() from None
        else:
            for delivery, cell in zip(delivered, batch, strict=True):
                self._lines.pop(cell.index, None)
                self._take_in(cell, delivery)
                self._course.keep(delivery.summary, delivery.took)
        future.release()

    def _running(self) -> dict[int, Cell]:
        """The cells that workers have, by their numbers."""
        return {cell.index: cell for batch in self._under_way.values() for cell in batch}

    def _take_in(self, cell: Cell, delivery: site.Delivery) -> None:
        """Stores what a worker delivers of a cell. What was received of it before is its beginning."""
        self._shown.end(cell)
        self._received.let_go(cell, durable=False)
        if not self._received.of(cell, delivery.attempt):
            self._make_room(cell)
        _store(cell, delivery)
        self._received.replaced(cell, [PurePosixPath(name).name for name in delivery.files])

    def _end_received(self) -> None:
        """Ends the journals of cells that were not delivered. What was measured stays; what was computed is again."""
        self._received.keep(self._running())
        for cell in self._received.close():
            if not self._alone:
                remove_cell(cell.folder)

    def _make_room(self, cell: Cell) -> None:
        """Sets aside an earlier measurement of a cell: a worker cannot continue it, and its own takes the folder."""
        self._shown.end(cell)
        if not self._alone and (cell.folder / ELSEWHERE).exists():
            remove_cell(cell.folder)  # a modelled cell computes the same seconds again
            return
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
        self._shown.end(cell)
        self._received.forget(cell)
        error = "every worker that ran it was lost (hint: out of memory? see the workers' logs)"
        course = self._course
        course.keep(keep_without_running(cell, course.experiment, "failed", error))

    def _report_workers(self) -> None:
        if self._client.status == "running":
            self._contact_at = time.monotonic()
        elif time.monotonic() - self._contact_at > SILENCE_S:
            raise lost_scheduler()
        now = frozenset(workers_of(self._client))
        for worker in sorted(self._workers - now):
            self._course.reporter.note(f"worker {worker} is lost: its cells run again elsewhere")
        for worker in sorted(now - self._workers):
            self._course.reporter.note(f"worker {worker} joined")
        if self._workers and not now:
            self._course.reporter.note("no worker is left: waiting for one (Ctrl-C ends the run)")
        self._workers = now

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Receives the progress of real cells, and what all cells record."""
        heard = {TOPIC: self._received.hear} | ({self._topic: self._show_progress} if self._alone else {})
        for topic, hear in heard.items():
            self._client.subscribe_topic(topic, hear)
        try:
            yield
        finally:
            with suppress(*UNREACHABLE):
                for topic in heard:
                    self._client.unsubscribe_topic(topic)

    def _show_progress(self, event: tuple[float, Mapping[str, Any]]) -> None:
        _, progress = event
        cell = self._course.result.cells[progress["cell"]]
        if any(cell is one for batch in list(self._under_way.values()) for one in batch):
            self._lines[cell.index] = f"{cell.label}: {progress['text']} (on {progress.get('worker', 'a worker')})"


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
