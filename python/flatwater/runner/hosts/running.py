"""A load that runs on several hosts, for whoever records it: one run, whose intervals are those of all hosts together.

Every host keeps its connections, its random numbers and its intervals. All begin at one instant of the common clock,
which is this machine's. A host that is lost ends the run: the rest would be a load of fewer sessions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flatwater._engine import EngineError
from flatwater.errors import FlatwaterError, Interrupted
from flatwater.results.load_host import LoadHost
from flatwater.runner.executors.scheduler import UNREACHABLE
from flatwater.runner.hosts import generator
from flatwater.runner.hosts.clocks import Clocks, HostClock
from flatwater.runner.hosts.cluster import Cluster, Host
from flatwater.runner.hosts.merging import HostPart, Merger
from flatwater.runner.hosts.messages import Errand, News, State
from flatwater.runner.hosts.refused import why_refused

if TYPE_CHECKING:
    from flatwater._engine import Interval

#: A host that has told nothing for so long is lost, as a connection of dask is (distributed.comm.timeouts.tcp).
#: It tells something twice a second, but a machine with many more threads than processors may be silent for seconds.
SILENCE_S = 30.0
#: The first task of a worker imports flatwater, and another run may use the worker: it may begin so much later.
BEGIN_S = 180.0
#: How often the scheduler is asked which workers it knows.
LOOK_EVERY_S = 0.5
#: From the choice of the common instant to the instant: every host must have learned it by then.
LEAD_S = 0.5
#: From a request to stop to the instant at which all hosts stop.
STOP_LEAD_S = 0.05
#: After the load, how long the last look at the clocks may take. Ctrl-C waits for it, too.
LAST_LOOK_S = 0.4
#: After a run that failed, how long its hosts may take to end their last requests.
END_S = 5.0
_POLL_S = 0.02


@dataclass
class HostState:
    """What is known of one host."""

    host: Host
    errand: Errand
    #: Number of its first session, from 0, and of its sessions.
    first: int
    sessions: int
    #: Of all hosts.
    of: int
    #: What it has: `session` or `thread`.
    noun: str = "session"
    state: State = "connecting"
    heard_at: float = 0.0
    told: int = 0
    begun_ns: int | None = None
    failure: str | None = None
    ended_by: str | None = None
    warning: str | None = None
    lost: str | None = None
    #: How far its clock was ahead of ours at the common instant.
    offset_ns: int = 0

    @property
    def its_sessions(self) -> str:
        """Its sessions in words."""
        first, last = self.first + 1, self.first + self.sessions
        return f"{self.noun}s {first} to {last} of {self.of}" if last > first else f"{self.noun} {first} of {self.of}"


class RunOnHosts:
    """One load on several hosts. It is a `Running`; `close` must follow its end."""

    def __init__(self, cluster: Cluster, states: list[HostState], interval_s: float, hurried: Callable[[], bool]):
        self._cluster = cluster
        self.hosts = states
        self._hurried = hurried
        self.merger = Merger(len(states), interval_s)
        self.clocks = Clocks(cluster, [state.host for state in states])
        self._topic = states[0].errand.topic
        #: Guards all that is known of the hosts.
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._stopping = False
        self._present: frozenset[str] | None = None
        self._trouble: FlatwaterError | None = None
        self.began_at_ns = 0

    def begin(self) -> None:
        """Connects all sessions, and lets them begin together.

        Errors: EngineError if a host cannot, FlatwaterError, Interrupted.
        """
        now = time.monotonic()
        for state in self.hosts:
            state.heard_at = now
        self._cluster.listen(self._topic, self._hear)
        for state in self.hosts:
            self._cluster.submit(state.host, state.errand)
        threading.Thread(target=self._look, name="load-hosts", daemon=True).start()
        self._wait_until_ready()
        self.clocks.ask()
        slowest_ns = max(clock.latest.bound_ns for clock in self.clocks.of_hosts)
        self.began_at_ns = time.monotonic_ns() + int(LEAD_S * 1e9) + 8 * slowest_ns
        for state, clock in zip(self.hosts, self.clocks.of_hosts, strict=True):
            state.offset_ns = clock.latest.offset_ns
        arguments = [(state.errand.key, self.began_at_ns + state.offset_ns) for state in self.hosts]
        try:
            lefts_s = self._cluster.call_all([state.host for state in self.hosts], generator.begin_at, arguments)
        except UNREACHABLE as error:
            raise FlatwaterError(f"a load host could not be told when to begin: {error}") from None
        for state, left_s in zip(self.hosts, lefts_s, strict=True):
            if left_s is None or left_s <= 0:
                what = f"load host {state.host.name} learned the common instant too late"
                raise FlatwaterError(what, hint="is that machine, or the network to it, overloaded?")
        self.clocks.keep_asking()

    def _wait_until_ready(self) -> None:
        while True:
            with self._changed:
                self._changed.wait(_POLL_S)
                self._find_lost()
                for state in self.hosts:
                    if state.failure is not None or state.state == "over":
                        raise EngineError(why_refused(state.host.name, state.failure))
                ready = all(state.state == "ready" for state in self.hosts)
            if self._hurried():
                raise Interrupted("interrupted while the load hosts were connecting")
            for refused in self._cluster.refusals():
                raise FlatwaterError(refused)
            if ready:
                return

    def _hear(self, news: News) -> None:
        """Takes in what a host told. In a thread of dask's client."""
        with self._changed:
            state = self.hosts[news["host"]]
            if state.lost is not None or self._closed.is_set():
                return
            if news["number"] != state.told:
                state.lost = "a part of its news is missing"
                return
            state.told += 1
            state.heard_at = time.monotonic()
            state.state = news["state"]
            state.begun_ns = news["begun_ns"] if news["begun_ns"] is not None else state.begun_ns
            state.failure = state.failure or news["failure"]
            state.ended_by = state.ended_by or news["ended_by"]
            state.warning = state.warning or news["warning"]
            if news["part"] is not None:
                start_s, end_s, data = news["part"]
                # Their seconds became ours: their clock may run faster or slower.
                moved_s = (self.clocks.of_hosts[news["host"]].latest.offset_ns - state.offset_ns) / 1e9
                self.merger.add(news["host"], HostPart(start_s - moved_s, end_s - moved_s, data, news["own"]))
            if news["state"] == "over":
                self.merger.end(news["host"])
            self._changed.notify_all()

    def _look(self) -> None:
        """Looks which workers the scheduler knows. In a thread of its own: without a scheduler, the question hangs.

        What the client knows of them may be a moment old or not yet there, so a worker is gone after two looks.
        """
        before = frozenset(state.host.worker for state in self.hosts)
        while not self._closed.wait(LOOK_EVERY_S):
            try:
                seen = self._cluster.present()
                self._present, before = seen | before, seen
            except FlatwaterError as error:
                self._trouble = error
                return

    def _find_lost(self) -> None:
        """Raises FlatwaterError if a host, or the scheduler, is lost. After `stop` a lost host is only noted."""
        now = time.monotonic()
        for state in self.hosts:
            if state.state == "over" or state.lost is not None:
                continue
            if self._present is not None and state.host.worker not in self._present:
                state.lost = "its worker is gone (killed, or out of memory? see its log)"
            elif now - state.heard_at > BEGIN_S and state.told == 0:
                state.lost = f"its worker did not begin for {BEGIN_S:.0f} s (does another run use it?)"
            elif now - state.heard_at > SILENCE_S and state.told > 0:
                state.lost = f"nothing was heard of it for {SILENCE_S:.0f} s (is the network to it down?)"
        lost = [state for state in self.hosts if state.lost is not None]
        if self._stopping:
            for state in lost:
                self.merger.end(self.hosts.index(state))
            return
        if lost:
            told = [f"load host {one.host.name} with {one.its_sessions} is lost: {one.lost}" for one in lost]
            hint = f"a load of fewer {lost[0].noun}s would be another measurement, so the cell ends"
            raise FlatwaterError("; ".join(told), hint=hint)
        if self._trouble is not None:
            raise self._trouble

    def next_interval(self, timeout_s: float) -> Interval | None:
        """The next interval of all hosts; None if it is not over yet. Raises StopIteration after the last one.

        Errors: FlatwaterError if a host is lost.
        """
        until = time.monotonic() + timeout_s
        while True:
            with self._changed:
                merged = self.merger.take()
                if merged is not None:
                    return merged
                if self.merger.over:
                    break
                self._find_lost()
                failed = any(state.ended_by is not None and state.state == "over" for state in self.hosts)
                left_s = until - time.monotonic()
                if left_s > 0 and not failed:
                    self._changed.wait(min(left_s, LOOK_EVERY_S))
            if failed and not self._stopping:
                # One host has ended with a failure: the others would be fewer sessions.
                self.stop()
            if left_s <= 0:
                return None
        if not self._closed.is_set():
            self._closed.set()
            self.clocks.close()
            self.clocks.ask_last(LAST_LOOK_S)
        raise StopIteration

    def stop(self) -> None:
        """Ends all hosts at one instant. Does not wait for a host that does not answer."""
        self._stopping = True
        at_ns = time.monotonic_ns() + int(STOP_LEAD_S * 1e9)
        for state, clock in zip(self.hosts, self.clocks.of_hosts, strict=True):
            offset_ns = clock.latest.offset_ns if clock.offsets else 0
            threading.Thread(target=self._stop_one, args=(state, at_ns + offset_ns), daemon=True).start()

    def _stop_one(self, state: HostState, at_ns: int) -> None:
        with suppress(*UNREACHABLE):
            self._cluster.call(state.host, generator.stop_at, state.errand.key, at_ns)

    def failure(self) -> str | None:
        """The first failure of a host, with its name."""
        return self._first((state.host.name, state.failure) for state in self.hosts)

    def ended_by(self) -> str | None:
        """The failure that ended the load of a host, with its name."""
        return self._first((state.host.name, state.ended_by) for state in self.hosts)

    def warning(self) -> str | None:
        """The first doubt of a host, with its name; also a host that was lost after the measurement."""
        return self._first((state.host.name, state.lost or state.warning) for state in self.hosts)

    @staticmethod
    def _first(told: Iterable[tuple[str, str | None]]) -> str | None:
        return next((f"load host {name}: {text}" for name, text in told if text is not None), None)

    def describe(self) -> list[LoadHost]:
        """Each host: its share, its clock, and how well it kept the common instants."""
        return [
            self._describe_one(state, clock, late_s)
            for state, clock, late_s in zip(self.hosts, self.clocks.of_hosts, self.merger.late_s, strict=True)
        ]

    def _describe_one(self, state: HostState, clock: HostClock, late_s: float) -> LoadHost:
        wall, drift = clock.wall, clock.drift
        begun = state.begun_ns
        return LoadHost(
            host=state.host.name,
            first=state.first + 1,
            sessions=state.sessions,
            skew_us=wall.offset_ns / 1e3 if wall is not None else None,
            skew_bound_us=wall.bound_ns / 1e3 if wall is not None else None,
            instant_bound_us=clock.offsets[0].bound_ns / 1e3 if clock.offsets else None,
            began_late_us=(begun - state.offset_ns - self.began_at_ns) / 1e3 if begun is not None else None,
            drift_ppm=drift.ppm if drift is not None else None,
            drift_bound_ppm=drift.bound_ppm if drift is not None else None,
            interval_late_us=late_s * 1e6,
        )

    def close(self) -> None:
        """Ends the generators, also those that do not answer."""
        self._closed.set()
        self.clocks.close()
        self._cluster.release(self._topic)
        self._wait_for_ends()

    def _wait_for_ends(self) -> None:
        """Waits until no host that answers sends anything: what comes next may read what they wrote."""
        until = time.monotonic() + END_S
        for state in self.hosts:
            with suppress(*UNREACHABLE):
                while state.lost is None and time.monotonic() < until:
                    if self._cluster.call(state.host, generator.has_ended, state.errand.key):
                        break
                    time.sleep(_POLL_S)
