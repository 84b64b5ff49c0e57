"""On this machine: modelled cells in processes, as many as there are cores; real cells one at a time, alone.

A process starts once and gets batches. The batches shrink towards the end, so that all processes end together. Each
finished cell is sent to the parent soon. So a process that dies loses at most one cell: that cell is tried once more,
and the rest of its batch goes to other processes.
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
from flatwater.runner.executors.process import Errand, FinishedCell, Trouble, UnderWay
from flatwater.runner.progress import Reporter, SilentReporter
from flatwater.runner.stack.layers.running import LoadHosts
from flatwater.runner.summary import keep_without_running

#: Cells of the largest batch: enough to make the cost of sending one small, and few enough to lose.
BATCH_CELLS_MAX = 64
#: A batch is this fraction of the remaining cells for each process: 1/8.
BATCH_PART = 8
#: In a sweep of more cells than this, modelled cells are not displayed one by one.
CELLS_SHOWN_MAX = 100
#: Seconds that the parent waits for messages before it checks for Ctrl-C.
POLL_S = 0.25
#: Seconds that processes have to end their cells after Ctrl-C.
PATIENCE_S = 2.0
#: The number of tries of a cell whose process dies.
TRIES = 2

_CALL = "from flatwater.runner.executors.process import main; main({}, {})"


class LocalExecutor(Executor):
    """Runs cells on this machine; `jobs` processes for modelled cells (None: one for each available core)."""

    def __init__(self, jobs: int | None = None, hosts: LoadHosts | None = None) -> None:
        """`hosts` make the load of cells with a `[load]`."""
        self._jobs = jobs or len(os.sched_getaffinity(0))
        self._hosts = hosts
        self._bench: Bench | None = None

    def open(self, experiment: Experiment, reporter: Reporter) -> MachineFacts:
        machines = self._hosts.open(experiment) if self._hosts is not None else []
        self._bench = Bench(experiment, hosts=self._hosts)
        stack = self._bench.stack(cell_at(experiment, 0))
        stack.check_sweep()
        facts: MachineFacts = {"storage": describe_storage(stack.place)} if stack.place is not None else {}
        if machines:
            facts["load_hosts"] = machines
        return facts

    def run(self, course: Course) -> None:
        assert self._bench is not None
        self._bench.take(course.experiment)
        modelled, real = course.parted()
        jobs = min(self._jobs, len(modelled))
        if jobs < 2:
            self._run_here(course, course.cells)
            return
        run_in_processes([course], [modelled], jobs)
        # Real cells start when the modelled ones have finished: nothing may run beside them.
        if not course.interrupt.requested:
            self._run_here(course, real)

    def _run_here(self, course: Course, cells: Sequence[Cell]) -> None:
        assert self._bench is not None
        for cell in cells:
            if course.interrupt.requested:
                course.interrupted = course.interrupted or "interrupted by the user"
                return
            course.tell(running=1)
            real = course.remaining.is_real(cell.index)
            is_silent = course.total > CELLS_SHOWN_MAX and not real
            reporter = self._follow(course, cell, SilentReporter() if is_silent else course.reporter)
            reporter.cell(course.number, course.total, cell.label, virtual=not real)
            clock = Clock()
            try:
                summary = self._bench.run(course.result, cell, reporter, course.interrupt)
            except UserError as error:
                if course.number == 1:
                    raise  # the first cell is not possible: probably the whole file is wrong
                summary = self._bench.refuse(course.result, cell, error)
            course.keep(summary, clock.took())
            # In a large sweep the summary stays on disk only.
            cell.drop_summary()
            if course.interrupted:
                return
        course.tell(running=0)

    @staticmethod
    def _follow(course: Course, cell: Cell, reporter: Reporter) -> Reporter:
        """A reporter that also passes the progress of a cell to its course."""

        def advance(share: float, took_s: float) -> None:
            course.remaining.advance(cell.index, share, took_s)
            course.tell(running=1)

        return Following(reporter, lambda: cell_at(course.experiment, cell.index).experiment, advance)

    def close(self) -> None:
        if self._bench is not None:
            self._bench.close()
        if self._hosts is not None:
            self._hosts.close()


def run_in_processes(courses: Sequence[Course], cells: Sequence[Sequence[Cell]], jobs: int) -> None:
    """Runs modelled cells of several courses, which share a reporter and an interrupt, in `jobs` processes. A process
    without cells of one course takes those of the next. Returns when all cells have finished or the user asked to stop.

    Errors: OSError when a result cannot be written.
    """
    pool = _Pool(courses, cells, jobs)
    try:
        pool.run()
    finally:
        pool.close()


@dataclass(eq=False)
class _Process:
    """The parent's record of a process of the pool."""

    child: subprocess.Popen[bytes]
    connection: Connection
    #: A pipe that closes when the parent dies, for whatever reason.
    alive: int
    #: The course of its last batch.
    course: int = 0
    #: The cells of its batch that have not finished, in their order.
    under_way: deque[Cell] = field(default_factory=deque)
    #: True from the start of a batch until the process reports its end.
    busy: bool = False


class _Pool:
    """Runs the modelled cells of courses."""

    def __init__(self, courses: Sequence[Course], cells: Sequence[Sequence[Cell]], jobs: int) -> None:
        self._courses = courses
        self._left = deque((number, cell) for number, of in enumerate(cells) for cell in of)
        self._jobs = min(jobs, len(self._left))
        self._interrupt = courses[0].interrupt
        #: The number of processes that died in a cell, by its course and its number.
        self._lost: Counter[tuple[int, int]] = Counter()
        errands = [Errand(course.experiment, course.result.path, course.result.machine) for course in courses]
        self._errands = pickle.dumps(errands)
        self._processes: list[_Process] = []

    def run(self) -> None:
        """Runs until all cells have finished or the user asked to stop. Errors: OSError, FlatwaterError."""
        self._processes = [self._start() for _ in range(self._jobs)]
        for process in list(self._processes):
            self._send_batch(process)
        stop_by: float | None = None
        while any(process.busy for process in self._processes):
            if self._interrupt.requested:
                stop_by = stop_by or self._ask_to_stop()
                if time.monotonic() > stop_by:
                    break
            ready = wait([process.connection for process in self._processes], POLL_S)
            for process in list(self._processes):
                if process.connection in ready:
                    self._receive(process)
            self._show_progress()
        if self._interrupt.requested:
            for course in self._courses:
                if not course.over:
                    course.interrupted = course.interrupted or "interrupted by the user"

    def _show_progress(self) -> None:
        running = sum(process.busy for process in self._processes)
        if len(self._courses) == 1:
            self._courses[0].tell(running)
        else:
            tell_together(self._courses, running)

    def _start(self) -> _Process:
        ours, theirs = socket.socketpair()
        their_life, our_life = os.pipe()
        # Ctrl-C goes to the whole process group, but only the parent handles it. The child inherits the signal mask.
        previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
        try:
            child = subprocess.Popen(
                [sys.executable, "-c", _CALL.format(theirs.fileno(), their_life)],
                pass_fds=(theirs.fileno(), their_life),
                stdin=subprocess.DEVNULL,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)
        theirs.close()
        os.close(their_life)
        connection = Connection(ours.detach())
        with suppress(BrokenPipeError, ConnectionResetError):  # a dead process is noticed at the next receive
            connection.send_bytes(self._errands)
        return _Process(child, connection, our_life)

    def _send_batch(self, process: _Process) -> None:
        """Sends the next batch, if there is one."""
        if not self._left or self._interrupt.requested:
            return
        many = min(BATCH_CELLS_MAX, max(1, len(self._left) // (BATCH_PART * self._jobs)))
        process.course = self._left[0][0]
        process.under_way = deque()
        # All cells of a batch belong to one course.
        while self._left and self._left[0][0] == process.course and len(process.under_way) < many:
            process.under_way.append(self._left.popleft()[1])
        process.busy = True
        with suppress(BrokenPipeError, ConnectionResetError):
            process.connection.send((process.course, [cell.index for cell in process.under_way]))

    def _receive(self, process: _Process) -> None:
        try:
            message: list[FinishedCell] | UnderWay | Trouble | None = process.connection.recv()
        except (EOFError, OSError):  # the process died between two messages, or in the middle of one
            self._replace_dead(process)
            return
        if isinstance(message, Trouble):
            if message.errno is not None:
                raise OSError(message.errno, message.text)
            raise RuntimeError(f"a process that ran cells ended with:\n{message.text}")
        if isinstance(message, UnderWay):
            self._courses[process.course].remaining.advance(message.index, message.share, message.took_s)
            return
        for one in message or []:
            process.under_way.popleft()
            self._courses[process.course].keep(one.summary, one.took)
        if message is None:
            # The user asked to stop: the cells that the process did not begin will not run.
            process.under_way.clear()
            process.busy = False
            self._send_batch(process)

    def _replace_dead(self, process: _Process) -> None:
        """Replaces a process that died (most likely killed for its memory), and runs its remaining cells again."""
        code = process.child.wait()
        self._processes.remove(process)
        _close_connection(process)
        if self._interrupt.requested:
            return
        rest, number, course = process.under_way, process.course, self._courses[process.course]
        # It may have died after it finished a cell and before it sent the cell.
        while rest and (rest[0].folder / "summary.json").exists():
            course.keep(rest.popleft().stored_summary())
        if rest:
            self._lost[number, rest[0].index] += 1
            if self._lost[number, rest[0].index] == TRIES:
                course.keep(_failed_summary(course, rest.popleft(), code))
            for cell in rest:
                course.remaining.forget(cell.index)
            self._left.extendleft((number, cell) for cell in reversed(rest))
        replacement = self._start()
        self._processes.append(replacement)
        self._send_batch(replacement)

    def _ask_to_stop(self) -> float:
        for process in self._processes:
            process.child.terminate()
        return time.monotonic() + PATIENCE_S

    def close(self) -> None:
        """Ends all processes, also busy ones."""
        for process in self._processes:
            with suppress(BrokenPipeError, ConnectionResetError):
                process.connection.send(None)
            _close_connection(process)
        for process in self._processes:
            if process.busy:
                process.child.kill()
            try:
                process.child.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.child.kill()
                process.child.wait()
        self._processes = []


def _close_connection(process: _Process) -> None:
    process.connection.close()
    os.close(process.alive)


def _failed_summary(course: Course, cell: Cell, code: int) -> CellSummary:
    died = f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended with exit code {code}"
    error = FlatwaterError(
        f"the process that ran it {died}, {TRIES} times", hint="out of memory? fewer processes: --jobs 1"
    )
    return keep_without_running(cell, course.experiment, "failed", str(error))
