"""Servers that die while a workload runs on them: noticed, recorded, started again; and faults injected on purpose."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence

from flatwater.errors import FlatwaterError, Interrupted
from flatwater.experiment import Experiment
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.server import Instance

#: After a death that ends the run, the record goes on for so many intervals: the gap and its errors are part of it.
GAP_INTERVALS = 2
#: What servers write into their error log when their disk is full.
FULL = re.compile(r"Disk is full|No space left|errno: 28|Errcode: 28|Error number 28", re.IGNORECASE)
#: A log that grows faster than this between two looks is looked at from here on only.
LOG_BYTES_MAX = 256 * 1024
#: A server that dies again this often is not going to live.
RESTARTS_MAX = 10


class Crashes:
    """Looks after the servers of one cell. Restarts go on in a thread, so that the record has no hole."""

    def __init__(
        self, cell: Experiment, instances: Sequence[Instance], tell: Callable[[str], None], *, measured_s: float = 0.0
    ) -> None:
        """`tell` shows the user what is also an event of the result. `measured_s` were measured before, with the fault
        among them if its time was then.
        """
        self.recoveries_s: list[float] = []
        #: Whether the experiment's fault came to pass.
        self.injected = False
        self._tell = tell
        self._restart = cell.server.on_crash == "restart"
        self._fault = cell.server.fault
        if self._fault is not None and measured_s >= self._fault.at_s:
            self.injected = True
        # A server that was frozen then is another now.
        self._thawed = self.injected
        self._gap_s = GAP_INTERVALS * cell.record.interval_s
        self._instances = instances
        self._restarting: dict[int, threading.Thread] = {}
        self._closing = threading.Event()
        #: Why the servers may hang, in the last words of theirs that tell.
        self.trouble: str | None = None
        #: How much of each error log was looked at.
        self._read_bytes = [_size(instance) for instance in instances]
        #: (kind, text) of events that a thread found, for the journal.
        self._news: list[tuple[str, str]] = []
        self._lock = threading.Lock()
        self._fatal: tuple[float, str] | None = None

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        """Looks once at every server. Errors: FlatwaterError when the run cannot go on."""
        self._inject(journal, measured_s)
        for number, instance in enumerate(self._instances):
            self._listen(number, instance, journal)
            if number not in self._restarting:
                self._look(number, instance, journal)
        with self._lock:
            news, self._news = self._news, []
        for kind, text in news:
            self._happened(journal, kind, text)
        if self._fatal is not None and time.monotonic() >= self._fatal[0]:
            hint = None if self._restart else 'database.on_crash = "restart" goes on after a crash'
            raise FlatwaterError(self._fatal[1], hint=hint)

    def settle(self, interrupt: Interrupt | None) -> None:
        """Waits until every server that died is there again.

        Errors: FlatwaterError when one will not be; Interrupted.
        """
        for thread in list(self._restarting.values()):
            while thread.is_alive():
                thread.join(0.1)
                if interrupt is not None and interrupt.asked:
                    raise Interrupted("interrupted while a server was being started again")
        for instance in self._instances:
            died = instance.died()
            if died is not None:
                raise FlatwaterError(f"{instance.name} {died}")

    def close(self) -> None:
        """No more restarts."""
        self._closing.set()
        for thread in list(self._restarting.values()):
            thread.join()

    def _happened(self, journal: Journal, kind: str, text: str) -> None:
        journal.event(kind, text)
        self._tell(text)

    def _inject(self, journal: Journal, measured_s: float | None) -> None:
        fault = self._fault
        if fault is None or measured_s is None:
            return
        instance = self._instances[0]
        if not self.injected and measured_s >= fault.at_s:
            self.injected = True
            if fault.kind == "kill":
                instance.kill()
            else:
                instance.freeze()
                what = f"{instance.name} was frozen (SIGSTOP) on purpose for {fault.duration_s:g} s"
                self._happened(journal, "fault", what)
        over = self.injected and not self._thawed and measured_s >= fault.at_s + fault.duration_s
        if over and fault.kind == "freeze":
            self._thawed = True
            instance.thaw()
            self._happened(journal, "recovered", f"{instance.name} goes on")

    def _listen(self, number: int, instance: Instance, journal: Journal) -> None:
        """A server whose disk is full waits for room: it neither dies nor refuses anything, but it says so."""
        size = _size(instance)
        if size <= self._read_bytes[number]:
            return
        begin = max(self._read_bytes[number], size - LOG_BYTES_MAX)
        self._read_bytes[number] = size
        with instance.error_log.open("rb") as log:
            log.seek(begin)
            lines = log.read(size - begin).decode(errors="replace").splitlines()
        said = next((line.strip() for line in lines if FULL.search(line)), None)
        if said is not None and self.trouble is None:
            self.trouble = f"{instance.name} says: {said[-200:]}"
            self._happened(journal, "fault", self.trouble)

    def _look(self, number: int, instance: Instance, journal: Journal) -> None:
        died = instance.died()
        if died is None or self._fatal is not None:
            return
        ours = self._fault is not None and self._fault.kind == "kill" and self.injected and number == 0
        self._happened(journal, "fault", f"{instance.name} {died}" + (" on purpose" if ours else ""))
        if not self._restart or len(self.recoveries_s) >= RESTARTS_MAX:
            often = f", after {RESTARTS_MAX} restarts" if self._restart else ""
            self._fatal = (time.monotonic() + self._gap_s, f"{instance.name} {died}{often}")
            return
        thread = threading.Thread(target=self._start_again, args=(number, instance), daemon=True)
        self._restarting[number] = thread
        thread.start()

    def _start_again(self, number: int, instance: Instance) -> None:
        began = time.monotonic()
        try:
            instance.start(stop=self._closing.is_set)
        except (FlatwaterError, OSError) as error:
            if not self._closing.is_set():
                self._fatal = (time.monotonic(), f"{instance.name} cannot be started again: {error}")
        else:
            took_s = time.monotonic() - began
            with self._lock:
                self.recoveries_s.append(took_s)
                self._news.append(("recovered", f"{instance.name} answers again after {took_s:.1f} s"))
        del self._restarting[number]


def _size(instance: Instance) -> int:
    try:
        return instance.error_log.stat().st_size
    except OSError:
        return 0
