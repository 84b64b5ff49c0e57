"""A worker process that runs batches of modelled cells for its parent (local.py)."""

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

#: Finished cells are sent in groups: two messages are at least this many seconds apart.
SEND_EVERY_S = 0.05


#: The number of an errand, and the indices of its cells to run next.
Batch = tuple[int, list[int]]


@dataclass(frozen=True)
class Errand:
    """An experiment whose cells a process may run. The process gets all errands before its first batch."""

    experiment: Experiment
    #: The result folder. The process writes only into the folders of its cells.
    path: Path
    machine: MachineFacts


@dataclass(frozen=True)
class FinishedCell:
    """A finished cell: its summary without histograms, and how long it took."""

    summary: CellSummary
    took: Took


@dataclass(frozen=True)
class UnderWay:
    """The progress of a running cell, 0..1, and the time that it took."""

    index: int
    share: float
    took_s: float


@dataclass(frozen=True)
class Trouble:
    """The reason why a process cannot continue: the result cannot be written, or a bug with its traceback."""

    errno: int | None
    text: str


class Worker:
    """Runs batches until the parent sends None."""

    def __init__(self, connection: Connection, errands: Sequence[Errand], interrupt: Interrupt) -> None:
        self._connection = connection
        self._errands = errands
        self._interrupt = interrupt
        #: The number of the errand that the bench belongs to.
        self._number = 0
        self._bench, self._result = _set_up(errands[0])
        self._unsent: list[FinishedCell] = []
        self._sent_at = time.monotonic()

    def serve(self) -> None:
        """Runs batches until the parent sends None."""
        try:
            while (batch := self._connection.recv()) is not None:
                number, indices = batch
                self._turn_to(number)
                for index in indices:
                    if self._interrupt.requested:
                        break
                    # `run` may send the list while the cell runs, and begin a new one.
                    done = self.run(index)
                    self._unsent.append(done)
                    if time.monotonic() - self._sent_at > SEND_EVERY_S:
                        self._send_finished()
                self._send_finished()
                # None marks the end of the batch.
                self._connection.send(None)
        finally:
            self._bench.close()

    def _turn_to(self, number: int) -> None:
        """Switches to another experiment: closes its predecessor's bench and opens its own."""
        if number != self._number:
            self._bench.close()
            self._number = number
            self._bench, self._result = _set_up(self._errands[number])

    def run(self, index: int) -> FinishedCell:
        """Runs one cell. Errors: OSError."""
        clock = Clock()
        cell = Cell(self._result, plan_cell(self._errands[self._number].experiment, index), None)
        try:
            experiment = self._errands[self._number].experiment
            send_share = functools.partial(self._send_share, index)
            reporter = Following(SilentReporter(), lambda: cell_at(experiment, index).experiment, send_share)
            summary = self._bench.run(self._result, cell, reporter, self._interrupt)
        except UserError as error:
            summary = self._bench.refuse(self._result, cell, error)
        slim = summary.model_copy(update={"histograms": {}})
        return FinishedCell(slim, clock.took())

    def _send_share(self, index: int, share: float, took_s: float) -> None:
        # Cells that finished earlier are sent first.
        self._send_finished()
        self._connection.send(UnderWay(index, share, took_s))

    def _send_finished(self) -> None:
        if self._unsent:
            self._connection.send(self._unsent)
        self._unsent = []
        self._sent_at = time.monotonic()


def _set_up(errand: Errand) -> tuple[Bench, Result]:
    return Bench(errand.experiment), side_result(errand.path, errand.experiment, errand.machine)


def main(descriptor: int, alive: int) -> None:
    """Runs the worker on a socket to its parent. It ends at once when the pipe `alive` closes: the parent has died."""
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()
    interrupt = Interrupt()

    def stop(number: int, frame: FrameType | None) -> None:
        interrupt.requested = True

    # The parent blocked Ctrl-C in this process. It asks for the end with SIGTERM.
    signal.signal(signal.SIGTERM, stop)
    connection = Connection(descriptor)
    try:
        errands = pickle.loads(connection.recv_bytes())  # noqa: S301 (from the parent process)
        Worker(connection, errands, interrupt).serve()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except OSError as error:
        connection.send(Trouble(error.errno, error.strerror or str(error)))
    except Exception:  # noqa: BLE001 (the parent shows it, whatever it is)
        connection.send(Trouble(None, traceback.format_exc()))


def _end_with(alive: int) -> None:
    os.read(alive, 1)
    os._exit(1)
