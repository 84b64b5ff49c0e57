"""The serving process of a cache, and those that take its place when it dies."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from flatwater.cache.child import Child
from flatwater.cache.jobs import Jobs
from flatwater.cache.notes import Notes, log
from flatwater.cache.outage import Outage
from flatwater.errors import FlatwaterError

#: A child that lived for a shorter time died of something that is still there: the next one starts after a pause.
SHORT_LIFE_S = 10.0
#: The first pause. It doubles with each short life, up to the longest.
PAUSE_S, PAUSE_MAX_S = 0.1, 10.0
#: How long a request waits for the next child.
NEXT_CHILD_S = 20.0


class Children:
    """Starts the serving process, and another one in its place when it has died.

    `start` starts a process and returns once it serves; it raises FlatwaterError if that fails. `jobs` are those under
    way: each new process is given them again.
    """

    def __init__(self, name: str, start: Callable[[], Child], jobs: Jobs, notes: Notes, *, restarts: int = 0) -> None:
        self._name = name
        self._start = start
        self._jobs = jobs
        self._notes = notes
        self._restarts = restarts
        self._child: Child | None = None
        self._changed = threading.Condition()
        self._pause_s = 0.0
        self._trouble: str | None = None
        self._outage: Outage | None = None

    @property
    def restarts(self) -> int:
        """How often a child was replaced."""
        return self._restarts

    @property
    def trouble(self) -> str | None:
        """Why no child serves, if the last one did not come to serve."""
        return self._trouble

    @property
    def current(self) -> Child | None:
        """The child that serves, or has just died; None while it is being replaced."""
        return self._child

    @property
    def state(self) -> str:
        """`serving`, `restarting`, `not serving` (a child did not come to serve), or `refusing` (requests get EIO)."""
        if self._child is not None and self._child.alive:
            return "serving"
        if self._outage is not None and self._outage.is_on:
            return "refusing"
        return "restarting" if self._trouble is None else "not serving"

    def start(self) -> None:
        """Starts a child and waits until it serves. Errors: FlatwaterError with what it says."""
        child = self._start()
        if self._outage is not None:
            self._outage.end()
        self._trouble = None
        with self._changed:
            self._child = child
            self._changed.notify_all()
        log(f"process {child.pid} serves")
        for job in self._jobs.running():
            with suppress(FlatwaterError):
                child.ask(job)

    def wait_serving(self, timeout_s: float = NEXT_CHILD_S) -> Child:
        """The child, or the next one. Errors: FlatwaterError when there is none in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._child is not None, timeout_s)
            if self._child is None:
                why = f" ({self._trouble})" if self._trouble else ""
                raise FlatwaterError(f"cache {self._name} is being restarted{why}", hint="ask again in a moment")
            return self._child

    def replace(self, outage: Outage, outage_s: float, is_stopping: Callable[[], bool]) -> None:
        """Starts the next child after one has died, again and again until one serves or the cache is being stopped.

        Requests that wait get EIO when no child serves for `outage_s`; 0: they wait for as long as it takes.
        """
        child, self._child = self._child, None
        assert child is not None
        self._restarts += 1
        lived_s = time.monotonic() - child.began_s
        self._pause_s = 0.0 if lived_s > SHORT_LIFE_S else self._longer_pause()
        how = f"died ({child.how_it_ended}) after {lived_s:.1f} s"
        self._notes.add(f"the serving process {child.pid} {how}: another takes its place")
        self._outage = outage
        refusal = threading.Timer(
            outage_s if outage_s > 0 else threading.TIMEOUT_MAX, self._refuse, args=(outage, outage_s)
        )
        refusal.daemon = True
        refusal.start()
        try:
            self._start_until_one_serves(is_stopping)
        finally:
            refusal.cancel()
            refusal.join()
            outage.end()

    def _refuse(self, outage: Outage, outage_s: float) -> None:
        self._notes.add(f"no process can serve since {outage_s:g} s: requests get EIO until one does")
        outage.begin()

    def _start_until_one_serves(self, is_stopping: Callable[[], bool]) -> None:
        while not is_stopping():
            try:
                return self.start()
            except FlatwaterError as error:
                self._trouble = error.what
                self._pause_s = self._longer_pause()
                log(f"no process can serve: {error.what}; the next try in {self._pause_s:.1f} s")
                time.sleep(self._pause_s)
        return None

    def _longer_pause(self) -> float:
        return min(PAUSE_MAX_S, max(PAUSE_S, 2 * self._pause_s))

    def close(self) -> None:
        """Kills the child, and refuses nothing more."""
        if self._child is not None:
            self._child.kill()
        if self._outage is not None:
            self._outage.end()
