"""A process that runs modelled cells, batch after batch, for the one that started it (local.py)."""

from __future__ import annotations

import functools
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

from flatwater.errors import UserError
from flatwater.experiment import Experiment, cell_at
from flatwater.results import Cell, CellSummary, Result
from flatwater.results.facts import MachineFacts
from flatwater.runner.executors.bench import Bench, plan_cell, side_result
from flatwater.runner.executors.executor import Clock, Took
from flatwater.runner.executors.following import Following
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import SilentReporter

#: Finished cells are told together: at least this many seconds lie between two messages.
TOLD_EVERY_S = 0.05


#: The number of an errand, and of those of its cells that are to be run next.
Batch = tuple[int, list[int]]


@dataclass(frozen=True)
class Errand:
    """An experiment of whose cells a process is given batches; it is told all of them before its first batch."""

    experiment: Experiment
    #: The result folder; the process writes nothing but the folders of its cells.
    path: Path
    machine: MachineFacts


@dataclass(frozen=True)
class Told:
    """A finished cell: its summary without histograms, and how long it took."""

    summary: CellSummary
    took: Took


@dataclass(frozen=True)
class UnderWay:
    """How far a cell is, 0..1, and what that took."""

    index: int
    share: float
    took_s: float


@dataclass(frozen=True)
class Trouble:
    """Why a process cannot go on: the result cannot be written, or a bug, with its traceback."""

    errno: int | None
    text: str


class Worker:
    """Runs batches until there are no more."""

    def __init__(self, connection: Connection, errands: Sequence[Errand], interrupt: Interrupt) -> None:
        self._connection = connection
        self._errands = errands
        self._interrupt = interrupt
        #: Which errand the bench is of.
        self._number = 0
        self._bench, self._result = _set_up(errands[0])
        self._untold: list[Told] = []
        self._told_at = time.monotonic()

    def serve(self) -> None:
        """Until there is no batch any more, which None says."""
        try:
            while (batch := self._connection.recv()) is not None:
                number, indices = batch
                self._turn_to(number)
                for index in indices:
                    if self._interrupt.asked:
                        break
                    # What is told meanwhile begins a new list.
                    done = self.run(index)
                    self._untold.append(done)
                    if time.monotonic() - self._told_at > TOLD_EVERY_S:
                        self._tell()
                self._tell()
                # The batch is over.
                self._connection.send(None)
        finally:
            self._bench.close()

    def _turn_to(self, number: int) -> None:
        """Another experiment's bench; what the last one held is given back first."""
        if number != self._number:
            self._bench.close()
            self._number = number
            self._bench, self._result = _set_up(self._errands[number])

    def run(self, index: int) -> Told:
        """Runs one cell. Errors: OSError."""
        clock = Clock()
        cell = Cell(self._result, plan_cell(self._errands[self._number].experiment, index), None)
        try:
            experiment = self._errands[self._number].experiment
            tell_share = functools.partial(self._tell_share, index)
            reporter = Following(SilentReporter(), lambda: cell_at(experiment, index).experiment, tell_share)
            summary = self._bench.run(self._result, cell, reporter, self._interrupt)
        except UserError as error:
            summary = self._bench.refuse(self._result, cell, error)
        slim = summary.model_copy(update={"histograms": {}})
        return Told(slim, clock.took())

    def _tell_share(self, index: int, share: float, took_s: float) -> None:
        # What was finished before it comes first.
        self._tell()
        self._connection.send(UnderWay(index, share, took_s))

    def _tell(self) -> None:
        if self._untold:
            self._connection.send(self._untold)
        self._untold = []
        self._told_at = time.monotonic()


def _set_up(errand: Errand) -> tuple[Bench, Result]:
    return Bench(errand.experiment), side_result(errand.path, errand.experiment, errand.machine)


def main(descriptor: int, alive: int) -> None:
    """Serves whoever holds the other end of a socket; ends at once when the pipe `alive` is closed by its death."""
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()
    interrupt = Interrupt()

    def stop(number: int, frame: FrameType | None) -> None:
        interrupt.asked = True

    # The parent, which blocked Ctrl-C here, asks with SIGTERM.
    signal.signal(signal.SIGTERM, stop)
    connection = Connection(descriptor)
    try:
        errands = pickle.loads(connection.recv_bytes())  # noqa: S301 (from the process that started this one)
        Worker(connection, errands, interrupt).serve()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except OSError as error:
        connection.send(Trouble(error.errno, error.strerror or str(error)))
    except Exception:  # noqa: BLE001 (whatever it is, the parent shows it)
        connection.send(Trouble(None, traceback.format_exc()))


def _end_with(alive: int) -> None:
    os.read(alive, 1)
    os._exit(1)
