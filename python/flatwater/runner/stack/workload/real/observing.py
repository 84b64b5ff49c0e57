"""The watching of a server's own clients, second by second, in place of a run of the engine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from flatwater.probe.proc import read_text
from flatwater.probe.server import Reading, ServerProbe
from flatwater.runner.stack.database.real.outages import News, Outages
from flatwater.runner.stack.database.real.work import Done, done_between
from flatwater.runner.stack.layers.running import Observation
from flatwater.runner.stack.workload.real.replicas import Replicas

if TYPE_CHECKING:
    from flatwater._engine import Interval


class ObservedRun:
    """Asks the server once an interval. It has the methods of the engine's `Run`."""

    def __init__(
        self, plan: Observation, probe: ServerProbe, is_down: Callable[[], bool], pid: Callable[[], int | None]
    ) -> None:
        """`is_down` says whether the server is known not to run; `pid` is its process, if that is on this machine."""
        self._plan = plan
        self._probe = probe
        self._is_down = is_down
        self._own_thread = _ServerThread(probe, pid)
        self._outages = Outages()
        self._replicas = Replicas()
        self.news: list[News] = []
        self._stopped = threading.Event()
        self.begun_s = time.monotonic()
        self._end_s = 0.0
        self._cpu_s = time.process_time()
        self._ticks = 0
        #: The last answer, and whether it was that of the last interval.
        self._before: Reading | None = probe.newest
        self._was_silent = self._before is None

    def next_interval(self, timeout_s: float) -> Interval | None:
        """The next interval; None if it is not over after `timeout_s`. Raises StopIteration once it was stopped."""
        due_s = self.begun_s + (self._ticks + 1) * self._plan.interval_s
        left_s = due_s - time.monotonic()
        if self._stopped.wait(max(0.0, min(timeout_s, left_s))):
            raise StopIteration
        if time.monotonic() < due_s:
            return None
        return self._interval()

    def stop(self) -> None:
        """Ends it at once: nothing is under way."""
        self._stopped.set()

    def failure(self) -> str | None:
        """None: a server that goes away is an event."""
        return None

    def ended_by(self) -> str | None:
        """None: an observation goes on until its time is over."""
        return None

    def warning(self) -> str | None:
        """None: what could not be recorded is told as a gap."""
        return None

    def _interval(self) -> Interval:
        figures = self._probe.sample()
        now_s = time.monotonic()
        start_s, self._end_s = self._end_s, now_s - self.begun_s
        # A machine that slept, or a client that had no processor, missed some of the moments.
        self._ticks = max(self._ticks + 1, int(self._end_s / self._plan.interval_s))
        reading = self._probe.newest
        down = reading is None and self._is_down()
        self.news += self._outages.see(self._end_s, reading, self._probe.trouble, down=down)
        if reading is not None:
            self.news += self._replicas.see(self._end_s, reading.channels)
        done = done_between(self._before, reading) if self._before is not None and reading is not None else None
        metrics = self._metrics(figures, None if self._was_silent else done, down=down)
        if reading is not None:
            self._before = reading
        self._was_silent = reading is None
        cpu_s, self._cpu_s = time.process_time() - self._cpu_s, time.process_time()
        metrics["observer_cpu_pct"] = 100 * cpu_s / (self._end_s - start_s)
        counted = {"transaction" if self._plan.unit == "tps" else "statement": (_whole(done, self._plan.unit), 0, 0)}
        deadlocks = int(done.deadlocks or 0) if done is not None else 0
        return {
            "start_s": start_s,
            "end_s": self._end_s,
            "metrics": metrics,
            "histograms": {},
            "totals": counted,
            "counters": {"deadlocks": deadlocks} if deadlocks > 0 else {},
            "cpu_s": cpu_s,
            "storage": figures,
            "incidents": [],
        }

    def _metrics(self, figures: dict[str, float], done: Done | None, *, down: bool) -> dict[str, float]:
        """Without rates for a second without an answer, and for the first one after it. A server that is known to be
        down does nothing.
        """
        found = {}
        if down:
            found = {"ops_per_s": 0.0, "queries_per_s": 0.0, "commits_per_s": 0.0}
        elif done is not None:
            found = {
                "ops_per_s": done.count(self._plan.unit) / done.seconds,
                "queries_per_s": done.statements / done.seconds,
                "commits_per_s": done.changing_commits(self._plan.unit) / done.seconds,
            }
        running = figures.get("database.threads_running")
        if running is not None:
            found["in_flight"] = running
        cost_pct = self._own_thread.sample()
        if cost_pct is not None:
            found["observer_server_cpu_pct"] = cost_pct
        return found


def _whole(done: Done | None, unit: str) -> int:
    return round(done.count(unit)) if done is not None else 0


class _ServerThread:
    """Processor time of the server's thread that answers the observer."""

    def __init__(self, probe: ServerProbe, pid: Callable[[], int | None]) -> None:
        self._probe = probe
        self._pid = pid
        self._last = self._read(), time.monotonic()

    def sample(self) -> float | None:
        """Percent of one core since the last call; None if it is not seen, or is another thread now."""
        (before, then), (now, at) = self._last, (self._read(), time.monotonic())
        self._last = now, at
        if before is None or now is None or before[0] != now[0] or at <= then:
            return None
        return max(0.0, 100 * (now[1] - before[1]) / 1e9 / (at - then))

    def _read(self) -> tuple[int, int] | None:
        """The thread, and the nanoseconds that it ran (Documentation/scheduler/sched-stats.rst of Linux)."""
        pid, thread = self._pid(), self._probe.thread
        if pid is None or thread is None:
            return None
        try:
            return thread, int(read_text(f"/proc/{pid}/task/{thread}/schedstat").split()[0])
        except (OSError, ValueError, IndexError):
            return None
