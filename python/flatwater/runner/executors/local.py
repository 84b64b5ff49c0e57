"""On this machine: modelled cells in processes, as many as there are cores; real cells one at a time, alone.

A process is started once and given batches. Batches shrink towards the end, so that all processes end together, and
each cell is told as soon as it is done, so that a process that dies takes at most one cell with it: that cell is tried
once more, and what else was in the batch goes to the others.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import Experiment, cell_at
from flatwater.probe import describe_storage
from flatwater.results import Cell, CellSummary
from flatwater.results.facts import MachineFacts
from flatwater.runner.executors.bench import Bench
from flatwater.runner.executors.executor import Clock, Course, Executor, tell_together
from flatwater.runner.executors.following import Following
from flatwater.runner.executors.process import Errand, Told, Trouble, UnderWay
from flatwater.runner.progress import Reporter, SilentReporter
from flatwater.runner.summary import keep_without_running

#: Cells of the largest batch: what handing one over costs is then spread over many, and losing it costs little.
BATCH_CELLS_MAX = 64
#: A batch is this part of what is left for each process.
BATCH_PART = 8
#: Of more cells than this, what each modelled one does is not worth a line.
CELLS_TOLD = 100
#: How often the parent looks up from waiting.
POLL_S = 0.25
#: After Ctrl-C, how long processes may take to end their cells.
PATIENCE_S = 2.0
#: How often a cell is tried whose process dies under it.
TRIES = 2

_CALL = "from flatwater.runner.executors.process import main; main({}, {})"


class LocalExecutor(Executor):
    """Runs everything here; `jobs` processes for modelled cells (None: one a core that this process may use)."""

    def __init__(self, jobs: int | None = None) -> None:
        self._jobs = jobs or len(os.sched_getaffinity(0))
        self._bench: Bench | None = None

    def open(self, experiment: Experiment, reporter: Reporter) -> MachineFacts:
        self._bench = Bench(experiment)
        stack = self._bench.stack(cell_at(experiment, 0))
        stack.check_sweep()
        return {"storage": describe_storage(stack.place)} if stack.place is not None else {}

    def run(self, course: Course) -> None:
        modelled, real = course.parted()
        jobs = min(self._jobs, len(modelled))
        if jobs < 2:
            self._run_here(course, course.cells)
            return
        run_in_processes([course], [modelled], jobs)
        # Only now, when nothing runs beside them.
        if not course.interrupt.asked:
            self._run_here(course, real)

    def _run_here(self, course: Course, cells: Sequence[Cell]) -> None:
        assert self._bench is not None
        for cell in cells:
            if course.interrupt.asked:
                course.interrupted = course.interrupted or "interrupted by the user"
                return
            course.tell(running=1)
            real = course.remaining.is_real(cell.index)
            fleeting = course.total > CELLS_TOLD and not real
            reporter = self._follow(course, cell, SilentReporter() if fleeting else course.reporter)
            reporter.cell(course.number, course.total, cell.label, virtual=not real)
            clock = Clock()
            try:
                summary = self._bench.run(course.result, cell, reporter, course.interrupt)
            except UserError as error:
                if course.number == 1:
                    raise  # what the first cell cannot be, the others hardly can: it is the file that is wrong
                summary = self._bench.refuse(course.result, cell, error)
            course.keep(summary, clock.took())
            # What a large sweep keeps of a cell is on the disk.
            cell.drop_summary()
            if course.interrupted:
                return
        course.tell(running=0)

    @staticmethod
    def _follow(course: Course, cell: Cell, reporter: Reporter) -> Reporter:
        """Tells the course how far its cell is."""

        def advance(share: float, took_s: float) -> None:
            course.remaining.advance(cell.index, share, took_s)
            course.tell(running=1)

        return Following(reporter, lambda: cell_at(course.experiment, cell.index).experiment, advance)

    def close(self) -> None:
        if self._bench is not None:
            self._bench.close()


def run_in_processes(courses: Sequence[Course], cells: Sequence[Sequence[Cell]], jobs: int) -> None:
    """Runs modelled cells of several courses, whose reporter and interrupt are the same, in as many processes: a
    process that has nothing left of one goes on with the next. Returns when all are over, or the user asked to stop.

    Errors: OSError when a result cannot be written.
    """
    pool = _Pool(courses, cells, jobs)
    try:
        pool.run()
    finally:
        pool.close()


@dataclass(eq=False)
class _Process:
    """A process of the pool, as its parent sees it."""

    child: subprocess.Popen[bytes]
    connection: Connection
    #: Closed by the parent's death, whatever it died of.
    alive: int
    #: Which course it was last given cells of.
    course: int = 0
    #: What it was given and has not told of yet, in its order.
    under_way: deque[Cell] = field(default_factory=deque)
    #: From when it is given a batch until it says that it is over.
    busy: bool = False


class _Pool:
    """Runs the modelled cells of courses."""

    def __init__(self, courses: Sequence[Course], cells: Sequence[Sequence[Cell]], jobs: int) -> None:
        self._courses = courses
        self._left = deque((number, cell) for number, of in enumerate(cells) for cell in of)
        self._jobs = min(jobs, len(self._left))
        self._interrupt = courses[0].interrupt
        #: How often a cell was lost, by its course and its number.
        self._lost: Counter[tuple[int, int]] = Counter()
        errands = [Errand(course.experiment, course.result.path, course.result.machine) for course in courses]
        self._errands = pickle.dumps(errands)
        self._processes: list[_Process] = []

    def run(self) -> None:
        """Until all are done, or the user asked to stop. Errors: OSError, FlatwaterError."""
        self._processes = [self._start() for _ in range(self._jobs)]
        for process in list(self._processes):
            self._give(process)
        stop_by: float | None = None
        while any(process.busy for process in self._processes):
            if self._interrupt.asked:
                stop_by = stop_by or self._ask_to_stop()
                if time.monotonic() > stop_by:
                    break
            ready = wait([process.connection for process in self._processes], POLL_S)
            for process in list(self._processes):
                if process.connection in ready:
                    self._hear(process)
            self._tell()
        if self._interrupt.asked:
            for course in self._courses:
                if not course.over:
                    course.interrupted = course.interrupted or "interrupted by the user"

    def _tell(self) -> None:
        running = sum(process.busy for process in self._processes)
        if len(self._courses) == 1:
            self._courses[0].tell(running)
        else:
            tell_together(self._courses, running)

    def _start(self) -> _Process:
        ours, theirs = socket.socketpair()
        their_life, our_life = os.pipe()
        # Ctrl-C reaches the whole group, and is the parent's to judge: the child is born deaf to it.
        heard = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
        try:
            child = subprocess.Popen(
                [sys.executable, "-c", _CALL.format(theirs.fileno(), their_life)],
                pass_fds=(theirs.fileno(), their_life),
                stdin=subprocess.DEVNULL,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, heard)
        theirs.close()
        os.close(their_life)
        connection = Connection(ours.detach())
        with suppress(BrokenPipeError, ConnectionResetError):  # then it is found dead when it is listened to
            connection.send_bytes(self._errands)
        return _Process(child, connection, our_life)

    def _give(self, process: _Process) -> None:
        """The next batch, if there is one."""
        if not self._left or self._interrupt.asked:
            return
        many = min(BATCH_CELLS_MAX, max(1, len(self._left) // (BATCH_PART * self._jobs)))
        process.course = self._left[0][0]
        process.under_way = deque()
        # A batch is of one course.
        while self._left and self._left[0][0] == process.course and len(process.under_way) < many:
            process.under_way.append(self._left.popleft()[1])
        process.busy = True
        with suppress(BrokenPipeError, ConnectionResetError):
            process.connection.send((process.course, [cell.index for cell in process.under_way]))

    def _hear(self, process: _Process) -> None:
        try:
            told: list[Told] | UnderWay | Trouble | None = process.connection.recv()
        except (EOFError, OSError):  # between two messages, or in the middle of one
            self._bury(process)
            return
        if isinstance(told, Trouble):
            if told.errno is not None:
                raise OSError(told.errno, told.text)
            raise RuntimeError(f"a process that ran cells ended with:\n{told.text}")
        if isinstance(told, UnderWay):
            self._courses[process.course].remaining.advance(told.index, told.share, told.took_s)
            return
        for one in told or []:
            process.under_way.popleft()
            self._courses[process.course].keep(one.summary, one.took)
        if told is None:
            # What it did not begin, because the user asked to stop, is nobody's now.
            process.under_way.clear()
            process.busy = False
            self._give(process)

    def _bury(self, process: _Process) -> None:
        """A process died (killed for its memory, most likely): another one takes its place and its cells."""
        code = process.child.wait()
        self._processes.remove(process)
        _let_go(process)
        if self._interrupt.asked:
            return
        rest, number, course = process.under_way, process.course, self._courses[process.course]
        # It may have died between finishing a cell and telling it.
        while rest and (rest[0].folder / "summary.json").exists():
            course.keep(rest.popleft().stored_summary())
        if rest:
            self._lost[number, rest[0].index] += 1
            if self._lost[number, rest[0].index] == TRIES:
                course.keep(_give_up(course, rest.popleft(), code))
            for cell in rest:
                course.remaining.forget(cell.index)
            self._left.extendleft((number, cell) for cell in reversed(rest))
        replacement = self._start()
        self._processes.append(replacement)
        self._give(replacement)

    def _ask_to_stop(self) -> float:
        for process in self._processes:
            process.child.terminate()
        return time.monotonic() + PATIENCE_S

    def close(self) -> None:
        """Ends all processes, whatever they do."""
        for process in self._processes:
            with suppress(BrokenPipeError, ConnectionResetError):
                process.connection.send(None)
            _let_go(process)
        for process in self._processes:
            if process.busy:
                process.child.kill()
            try:
                process.child.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.child.kill()
                process.child.wait()
        self._processes = []


def _let_go(process: _Process) -> None:
    process.connection.close()
    os.close(process.alive)


def _give_up(course: Course, cell: Cell, code: int) -> CellSummary:
    died = f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended with exit code {code}"
    error = FlatwaterError(
        f"the process that ran it {died}, {TRIES} times", hint="out of memory? fewer processes: --jobs 1"
    )
    return keep_without_running(cell, course.experiment, "failed", str(error))
