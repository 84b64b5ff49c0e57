"""What dask's workers run for a client on another machine, and the check that both run the same flatwater.

`facts` and the first two arguments of `run_cells` are the interface between versions of flatwater: they must not
change.
"""

from __future__ import annotations

import hashlib
import pickle
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

from distributed import get_worker
from distributed.worker import Worker

from flatwater import __version__, _engine
from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import Experiment
from flatwater.experiment.parse import expanded
from flatwater.probe import describe_machine
from flatwater.results import Cell, CellSummary
from flatwater.results.facts import MachineFacts
from flatwater.runner.executors.bench import Bench, plan_cell, side_result
from flatwater.runner.executors.executor import Clock, Took
from flatwater.runner.executors.relay import TOPIC, Teller
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import PhaseClock, SilentReporter, latency_text
from flatwater.runner.summary import keep_without_running

#: A running cell checks at this interval whether its client still wants it.
CHECK_EVERY_S = 0.25
#: A real cell reports its progress at this interval.
REPORT_EVERY_S = 1.0


@dataclass(frozen=True)
class Delivery:
    """A finished cell: its summary, its files by their path in the result folder, and how long it took."""

    summary: CellSummary
    files: dict[str, bytes]
    took: Took
    #: Of the messages that told of it while it ran (`relay.Teller`).
    attempt: str = ""


@dataclass(frozen=True)
class Errand:
    """What a client asks of its workers."""

    #: The topic for the progress of real cells; empty for modelled ones, which are too many and too short for that.
    topic: str
    #: The name of the run on the topic of journals.
    run: str
    experiment: Experiment


class WorkerFacts(TypedDict):
    """Facts about a process that runs cells: flatwater's version, part of the engine's digest, the machine."""

    flatwater: str
    engine: str
    machine: MachineFacts


@lru_cache(maxsize=1)
def facts() -> WorkerFacts:
    """The facts about this process. Errors: OSError if the engine's file cannot be read."""
    # Two builds of one version may differ, and modelled cells give the same bytes only from the same engine.
    with Path(_engine.__file__ or "").open("rb") as engine:
        build = hashlib.file_digest(engine, "sha256").hexdigest()[:12]
    return {"flatwater": __version__, "engine": build, "machine": describe_machine()}


def digests(devices: Sequence[str]) -> dict[str, str | None]:
    """Digests of the files of modelled devices that are given by path; None for a file that is not on this machine."""
    found: dict[str, str | None] = {}
    for written in devices:
        path = expanded(written)
        found[written] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
    return found


def refusal(who: str, theirs: WorkerFacts, ours: WorkerFacts) -> FlatwaterError | None:
    """The client's error if a worker may not run its cells; None if it may."""
    there, here = theirs.get("flatwater"), ours.get("flatwater")
    if there != here:
        what = f"worker {who} has flatwater {there}, this is {here}"
        return FlatwaterError(what, hint="install the same version everywhere, and start the workers again")
    if theirs.get("engine") != ours.get("engine"):
        what = f"worker {who} has another build of flatwater {here}: engine {theirs.get('engine')}, this is "
        return FlatwaterError(f"{what}{ours.get('engine')}", hint="install the same wheel everywhere")
    return None


def run_cells(client: WorkerFacts, errand: bytes, indexes: Sequence[int]) -> list[Delivery]:
    """Runs cells of a pickled experiment, one after another. `client` has the facts about the client.

    Errors: FlatwaterError when client and worker run different versions.
    """
    worker = get_worker()
    error = refusal(worker.address, facts(), client)
    if error is not None:
        raise error
    asked: Errand = pickle.loads(errand)  # noqa: S301 (who can reach a worker can run any code on it anyway)
    experiment = asked.experiment
    reporter = SiteReporter(worker, asked.topic, indexes[0])
    # A later run may get another worker, and the measurement goes to the client.
    bench = Bench(experiment, resumable=False)
    done = []
    teller = Teller(lambda message: worker.log_event(TOPIC, message), asked.run)
    with (
        closing(teller),
        watched(worker) as interrupt,
        tempfile.TemporaryDirectory(dir=worker.local_directory) as folder,
    ):
        try:
            for index in indexes:
                if interrupt.requested:
                    break
                cell = _cell(experiment, index, Path(folder) / str(index))
                done.append(_run_cell(bench, experiment, cell, reporter, interrupt, teller))
        finally:
            bench.close()
    return done


def _cell(experiment: Experiment, index: int, folder: Path) -> Cell:
    """A cell in a folder of its own."""
    return Cell(side_result(folder, experiment, facts()["machine"]), plan_cell(experiment, index), None)


def _run_cell(
    bench: Bench, experiment: Experiment, cell: Cell, reporter: SiteReporter, interrupt: Interrupt, teller: Teller
) -> Delivery:
    clock, result = Clock(), cell.result
    teller.turn_to(cell.index, cell.journal)
    try:
        summary = bench.run(result, cell, reporter, interrupt)
    except UserError as error:
        summary = bench.refuse(result, cell, error)
    except OSError as error:
        # The failure is on the worker's disk. The result folder is on the client's.
        what = f"the worker could not keep what it measured: {error.strerror or error}"
        summary = keep_without_running(cell, experiment, "failed", what)
    finally:
        teller.turn_to(cell.index, None)
    return Delivery(summary, _files(result.path, summary), clock.took(), teller.attempt)


def _files(folder: Path, summary: CellSummary) -> dict[str, bytes]:
    """The files of a cell. The journal of a complete cell is left out: its Parquet files have the same data."""
    found = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    whole = summary.status == "complete"
    return {name: path.read_bytes() for name, path in found.items() if not (whole and path.suffix == ".jsonl")}


@contextmanager
def watched(worker: Worker) -> Iterator[Interrupt]:
    """An interrupt that is set when the client has cancelled the current task, or is gone."""
    key, interrupt, over = worker.get_current_task(), Interrupt(), threading.Event()

    def look() -> None:
        while not over.wait(CHECK_EVERY_S):
            task = worker.state.tasks.get(key)
            if task is None or task.state == "cancelled":
                interrupt.requested = True

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield interrupt
    finally:
        over.set()
        watcher.join()


class SiteReporter(SilentReporter):
    """Reports the progress of a cell to the client, once a second, through the scheduler."""

    def __init__(self, worker: Worker, topic: str, index: int) -> None:
        self._worker = worker
        self._topic = topic
        self._index = index
        self._phase = ""
        self._clock = PhaseClock()
        self._next = 0.0

    def phase(self, name: str, length_s: float | None) -> None:
        self._phase = name
        self._clock.begin(length_s)

    def written(self, done: int, total: int) -> None:
        self._share(done, total)

    def loaded(self, done: int, total: int) -> None:
        self._share(done, total)

    def _share(self, done: int, total: int) -> None:
        self._tell(f"{self._phase} {100 * done / total if total else 100:.0f} %")

    def interval(self, at_s: float, throughput: float, unit: str, p95_us: float | None) -> None:
        left = self._clock.left_text(at_s)
        figures = f"{throughput:,.0f} {unit}, p95 {latency_text(p95_us)}{', ' if left else ''}{left}"
        self._tell(f"{self._phase} {at_s:.0f} s: {figures}")

    def _tell(self, text: str) -> None:
        now = time.monotonic()
        if self._topic and now >= self._next:
            self._next = now + REPORT_EVERY_S
            self._worker.log_event(self._topic, {"cell": self._index, "text": text})
