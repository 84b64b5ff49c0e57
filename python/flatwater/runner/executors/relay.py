"""What a cell on a worker records, told to its client while it runs: once a second, the lines that are new.

The worker reads the journal that the cell writes anyway (`Teller`); the load generator does nothing more for it. The
client adds the lines to the journal of the cell in the result folder (`Received`), so that whoever watches a run finds
there what it finds of a run of this machine. When the cell is over, its whole files take the place of that journal.

Dask's scheduler keeps the last thousand messages of each topic for as long as it lives. So all runs share one topic,
and each message is small.
"""

from __future__ import annotations

import os
import queue
import threading
import uuid
import zlib
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from flatwater.owned import own_alone, write_atomic
from flatwater.results import Cell
from flatwater.results.result import ELSEWHERE

#: The topic of dask's events.
TOPIC = "flatwater-journals"
#: Seconds between two messages of a worker's cell, and how much of a journal one takes at most. A real cell writes some
#: KB a second; a modelled one, which may write more, is told of with a delay then.
TELL_EVERY_S = 1.0
PIECE_BYTES = 128 * 1024

#: Sends a message to the client.
Send = Callable[[dict[str, Any]], None]


class Teller:
    """Tells the client of a run what is new in the journal of the cell that runs, from a thread of its own."""

    def __init__(self, send: Send, run: str) -> None:
        self._send = send
        self._run = run
        #: Names this try of the cells: when a worker is lost, they run again elsewhere.
        self.attempt = uuid.uuid4().hex
        self._lock = threading.Lock()
        self._journal: Path | None = None
        self._index = self._at = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="teller", daemon=True)
        self._thread.start()

    def turn_to(self, index: int, journal: Path | None) -> None:
        """Another cell begins; None between two cells."""
        with self._lock:
            self._index, self._journal, self._at = index, journal, 0

    def close(self) -> None:
        """Ends the thread."""
        self._over.set()
        self._thread.join()

    def _tell(self) -> None:
        # A cell that is over before the first second is not told of: its files are on their way.
        while not self._over.wait(TELL_EVERY_S):
            with self._lock:
                journal, index, at = self._journal, self._index, self._at
                if journal is None or not (piece := whole_lines(journal, at)):
                    continue
                self._at += len(piece)
                lines = zlib.compress(piece, 1)
                with suppress(RuntimeError):  # the worker is ending
                    self._send({"run": self._run, "attempt": self.attempt, "cell": index, "at": at, "lines": lines})


def whole_lines(path: Path, at: int) -> bytes:
    """Whole lines of a file that is being written, from a place on; empty if there is nothing new."""
    size = PIECE_BYTES
    try:
        with path.open("rb") as handle:
            while True:
                piece = os.pread(handle.fileno(), size, at)
                end = piece.rfind(b"\n") + 1
                if end or len(piece) < size:
                    return piece[:end]
                size *= 2  # a line that is longer than a piece
    except OSError:
        return b""


@dataclass
class _Journal:
    """A journal that is received. `size` bytes of it are there; None of the handle: nothing more is kept."""

    cell: Cell
    attempt: str
    handle: BinaryIO | None = None
    size: int = 0
    #: Whether what was in the folder before is moved away.
    has_room: bool = False
    #: Tries of workers that were lost: one that still speaks is not heard.
    earlier: set[str] = field(default_factory=set)


class Received:
    """The journals of cells that run on workers. `hear` is called by dask's thread, all else by the run's own.

    `make_room` moves away what was in the folder of a cell. `shown` is given each new piece. `note` tells the user.
    """

    def __init__(
        self,
        run: str,
        make_room: Callable[[Cell], None],
        shown: Callable[[Cell, bytes], None],
        note: Callable[[str], None],
    ) -> None:
        self._run = run
        self._make_room = make_room
        self._shown = shown
        self._note = note
        self._messages: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()
        self._journals: dict[int, _Journal] = {}

    def hear(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Takes a message of the topic, on which other runs are told of, too."""
        _, message = event
        if message.get("run") == self._run:
            self._messages.put(message)

    def keep(self, cells: Mapping[int, Cell]) -> None:
        """Writes what was told of these cells, which run. Of cells that are over nothing is expected."""
        while True:
            try:
                message = self._messages.get_nowait()
            except queue.Empty:
                return
            cell = cells.get(message["cell"])
            if cell is not None:
                self._add(cell, message)

    def _add(self, cell: Cell, message: Mapping[str, Any]) -> None:
        journal = self._journals.get(cell.index)
        attempt = message["attempt"]
        if journal is not None and attempt in journal.earlier:
            return
        piece = zlib.decompress(message["lines"])
        try:
            if journal is None or journal.attempt != attempt:
                journal = self._begin(cell, attempt, journal)
            if journal.handle is None or message["at"] != journal.size:
                return  # what is not whole up to here is no journal
            journal.handle.write(piece)
            journal.handle.flush()
        except OSError as error:
            self._give_up(cell, error)
            return
        journal.size += len(piece)
        self._shown(cell, piece)

    def _begin(self, cell: Cell, attempt: str, before: _Journal | None) -> _Journal:
        self.let_go(cell)
        earlier = {*before.earlier, before.attempt} if before is not None else set()
        journal = self._journals[cell.index] = _Journal(cell, attempt, earlier=earlier)
        self._make_room(cell)
        journal.has_room = True
        cell.folder.mkdir(parents=True, exist_ok=True)
        # Before the journal: a kill leaves no journal that this machine would go on with.
        write_atomic(cell.folder / ELSEWHERE, "{}\n")
        own_alone(cell.journal)
        journal.handle = cell.journal.open("ab")
        return journal

    def _give_up(self, cell: Cell, error: OSError) -> None:
        journal = self._journals[cell.index]
        handle, journal.handle = journal.handle, None
        if handle is not None:
            with suppress(OSError):
                handle.close()
        why = error.strerror or str(error)
        self._note(f"{cell.label}: cannot be watched from here on ({why}); its worker goes on, and has all of it")

    def of(self, cell: Cell, attempt: str) -> bool:
        """Whether the journal in the folder of a cell is the beginning of what this attempt recorded."""
        journal = self._journals.get(cell.index)
        return journal is not None and journal.attempt == attempt and journal.has_room

    def let_go(self, cell: Cell, *, durable: bool = True) -> None:
        """Closes the journal of a cell, and leaves it where it is. `durable`: it is on the disk then."""
        journal = self._journals.get(cell.index)
        if journal is None or journal.handle is None:
            return
        handle, journal.handle = journal.handle, None
        with suppress(OSError):
            if durable:
                os.fsync(handle.fileno())
        with suppress(OSError):
            handle.close()

    def replaced(self, cell: Cell, files: Collection[str]) -> None:
        """The cell is over, and its files were stored, `files` by their names: what was received is in them."""
        self.let_go(cell, durable=False)
        if self._journals.pop(cell.index, None) is not None and cell.journal.name not in files:
            cell.journal.unlink(missing_ok=True)
        (cell.folder / ELSEWHERE).unlink(missing_ok=True)

    def forget(self, cell: Cell) -> None:
        """The cell failed with its workers: the journal in its folder is all that there is."""
        self.let_go(cell)
        self._journals.pop(cell.index, None)

    def close(self) -> list[Cell]:
        """Closes all journals; the cells that were not over."""
        cells = [journal.cell for journal in self._journals.values()]
        for cell in cells:
            self.let_go(cell)
        return cells
