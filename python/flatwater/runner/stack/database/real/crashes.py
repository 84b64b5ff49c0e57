"""Handles servers that die while a workload runs: records and restarts them. Also injects faults on purpose."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from flatwater.errors import FlatwaterError, Interrupted
from flatwater.experiment import Experiment
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.journal import Journal
from flatwater.runner.stack.database.real.full import FULL
from flatwater.server import Instance
from flatwater.server.error_log import message_of

#: Intervals that are still recorded after a death that ends the run: the gap and its errors are part of the record.
GAP_INTERVALS = 2
#: Of a log that grows faster than this between two checks, only the last part is read.
LOG_BYTES_MAX = 256 * 1024
#: After this many restarts, a server that dies is not restarted again.
RESTARTS_MAX = 10


class Crashes:
    """Watches the servers of one cell. Restarts run in a thread, so that the record has no gap."""

    def __init__(
        self,
        cell: Experiment,
        instances: Sequence[Instance],
        tell: Callable[[str], None],
        *,
        measured_s: float = 0.0,
        explain: Callable[[str], str] = lambda text: text,
    ) -> None:
        """`tell` shows the text of an event to the user. `measured_s` were measured by an earlier run. If the fault's
        time was within them, the fault was injected then. `explain` adds which storage is full.
        """
        self.recoveries_s: list[float] = []
        #: Whether the fault of the experiment was injected.
        self.injected = False
        self._tell = tell
        self._explain = explain
        self._restart = cell.server.on_crash == "restart"
        self._fault = cell.server.fault
        if self._fault is not None and measured_s >= self._fault.at_s:
            self.injected = True
        # If the server was frozen in the earlier run, it has been restarted since.
        self._thawed = self.injected
        self._gap_s = GAP_INTERVALS * cell.record.interval_s
        self._instances = instances
        self._restarting: dict[int, threading.Thread] = {}
        self._closing = threading.Event()
        #: Why the servers may hang: the last message of theirs that explains it.
        self.trouble: str | None = None
        #: Bytes of each error log that were checked.
        self._read_bytes = [_size(instance) for instance in instances]
        #: Events (kind, text) of the restarting threads, for the journal.
        self._news: list[tuple[str, str]] = []
        self._lock = threading.Lock()
        self._fatal: tuple[float, str] | None = None

    def watch(self, journal: Journal, measured_s: float | None) -> None:
        """Checks every server once. Errors: FlatwaterError when the run cannot continue."""
        self._inject(journal, measured_s)
        for number, instance in enumerate(self._instances):
            self._check_error_log(number, instance, journal)
            if number not in self._restarting:
                self._check_alive(number, instance, journal)
        with self._lock:
            news, self._news = self._news, []
        for kind, text in news:
            self._record_event(journal, kind, text)
        if self._fatal is not None and time.monotonic() >= self._fatal[0]:
            hint = None if self._restart else 'database.on_crash = "restart" goes on after a crash'
            raise FlatwaterError(self._fatal[1], hint=hint)

    def settle(self, interrupt: Interrupt | None) -> None:
        """Waits until every server that died has been restarted.

        Errors: FlatwaterError when a restart fails; Interrupted.
        """
        for thread in list(self._restarting.values()):
            while thread.is_alive():
                thread.join(0.1)
                if interrupt is not None and interrupt.requested:
                    raise Interrupted("interrupted while a server was being started again")
        for instance in self._instances:
            died = instance.died()
            if died is not None:
                raise FlatwaterError(f"{instance.name} {died}")

    def close(self) -> None:
        """Stops the restarts."""
        self._closing.set()
        for thread in list(self._restarting.values()):
            thread.join()

    def _record_event(self, journal: Journal, kind: str, text: str) -> None:
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
                self._record_event(journal, "fault", what)
        over = self.injected and not self._thawed and measured_s >= fault.at_s + fault.duration_s
        if over and fault.kind == "freeze":
            self._thawed = True
            instance.thaw()
            self._record_event(journal, "recovered", f"{instance.name} goes on")

    def _check_error_log(self, number: int, instance: Instance, journal: Journal) -> None:
        """Checks the error log for a full disk: such a server only waits for space. It does not die."""
        size = _size(instance)
        if size <= self._read_bytes[number]:
            return
        begin = max(self._read_bytes[number], size - LOG_BYTES_MAX)
        self._read_bytes[number] = size
        with instance.error_log.open("rb") as log:
            log.seek(begin)
            lines = log.read(size - begin).decode(errors="replace").splitlines()
        message = next((message_of(line) for line in lines if FULL.search(line)), None)
        if message is not None and self.trouble is None:
            self.trouble = self._explain(f"{instance.name} says: {message}")
            self._record_event(journal, "fault", self.trouble)

    def _check_alive(self, number: int, instance: Instance, journal: Journal) -> None:
        died = instance.died()
        if died is None or self._fatal is not None:
            return
        ours = self._fault is not None and self._fault.kind == "kill" and self.injected and number == 0
        self._record_event(journal, "fault", f"{instance.name} {died}" + (" on purpose" if ours else ""))
        if not self._restart or len(self.recoveries_s) >= RESTARTS_MAX:
            often = f", after {RESTARTS_MAX} restarts" if self._restart else ""
            self._fatal = (time.monotonic() + self._gap_s, f"{instance.name} {died}{often}")
            return
        thread = threading.Thread(target=self._restart_server, args=(number, instance), daemon=True)
        self._restarting[number] = thread
        thread.start()

    def _restart_server(self, number: int, instance: Instance) -> None:
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
