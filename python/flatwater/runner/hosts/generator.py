"""A load generator: what runs on a load host, as a task of its dask worker.

The task connects the sessions of this host and waits. Then it is told the common instant. Its news go to the run
through dask's events. It ends when it is told to stop, or when the run does not want it any more.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable

from distributed import get_worker

from flatwater._engine import EngineError, Run
from flatwater.probe.cpu import CpuProbe
from flatwater.runner.executors import site
from flatwater.runner.hosts.messages import Errand, News, State, Told
from flatwater.runner.interrupt import Interrupt

#: A generator without an interval to tell says at least this often that it is alive.
ALIVE_EVERY_S = 0.5
#: How often a generator that waits for the common instant looks for it.
LOOK_S = 0.02
#: After the run was told to stop, how long its outstanding transactions may take.
DRAIN_S = 60.0

#: The clocks of this host.
monotonic_ns: Callable[[], int] = time.monotonic_ns
wall_ns: Callable[[], int] = time.time_ns

#: The generators of this process, by their keys.
_GENERATORS: dict[str, Generator] = {}


class Generator:
    """One part of a load, from its connections to its end."""

    def __init__(self, errand: Errand, send: Callable[[News], None]) -> None:
        self._errand = errand
        self._send = send
        self._number = 0
        self._run: Run | None = None
        self._stop_at_ns: int | None = None

    def work(self, interrupt: Interrupt) -> None:
        """Runs to the end. A failure is part of the news."""
        self._tell("connecting")
        try:
            run = Run.database(self._errand.plan)
        except EngineError as error:
            self._tell("over", failure=str(error))
            return
        self._run = run
        state: State = "connecting"
        probe, own = CpuProbe(), dict[str, float]()
        alive_at = 0.0
        stopped_at: float | None = None
        while True:
            if interrupt.requested or self._is_time_to_stop():
                run.stop()
                stopped_at = stopped_at or time.monotonic()
            if stopped_at is not None and time.monotonic() - stopped_at > DRAIN_S:
                break
            try:
                part = run.next_part(LOOK_S)
            except StopIteration:
                break
            if part is not None:
                own = _of_this_host(probe)
            now_state: State = "running" if run.begun_ns() is not None else "ready" if run.is_ready() else "connecting"
            if part is not None or now_state != state or time.monotonic() - alive_at > ALIVE_EVERY_S:
                state, alive_at = now_state, time.monotonic()
                self._tell(state, part=part, own=own if part is not None else {})
        self._tell("over", failure=run.failure(), warning=run.warning())

    def begin_at(self, at_ns: int) -> float:
        """Lets the sessions begin at an instant of this host's clock; returns how many seconds are left until then."""
        assert self._run is not None, "only a generator that is ready is told the instant"
        left_s = (at_ns - monotonic_ns()) / 1e9
        if left_s > 0:
            # The engine reads the machine's clock: the instant is told by what is left until it.
            self._run.begin_at(time.monotonic_ns() + int(left_s * 1e9))
        return left_s

    def stop_at(self, at_ns: int) -> None:
        """Ends the sessions after their outstanding transactions, from an instant of this host's clock on."""
        self._stop_at_ns = at_ns

    def _is_time_to_stop(self) -> bool:
        return self._stop_at_ns is not None and monotonic_ns() >= self._stop_at_ns

    def _tell(
        self,
        state: State,
        *,
        part: tuple[float, float, bytes] | None = None,
        own: dict[str, float] | None = None,
        failure: str | None = None,
        warning: str | None = None,
    ) -> None:
        begun_ns = self._run.begun_ns() if self._run is not None else None
        if begun_ns is not None:
            begun_ns += monotonic_ns() - time.monotonic_ns()
        self._send(
            {
                "host": self._errand.host,
                "number": self._number,
                "state": state,
                "part": part,
                "own": own or {},
                "begun_ns": begun_ns,
                "failure": failure,
                "warning": warning,
            }
        )
        self._number += 1


def _of_this_host(probe: CpuProbe) -> dict[str, float]:
    """How idle this machine was in the last interval, and how long the generator waited for its processors."""
    told = probe.sample()
    names = {
        "machine.cpu_idle_pct": "machine_idle_pct",
        "machine.cpu_steal_pct": "machine_steal_pct",
        "machine.others_cpu_pct": "machine_others_cpu_pct",
        "workload.client_cpu_wait_pct": "client_cpu_wait_pct",
    }
    return {series: told[name] for name, series in names.items() if name in told}


def generate(client: site.WorkerFacts, errand: bytes) -> None:
    """The task: runs a part of a load. `client` has the facts about whoever wants it.

    Errors: FlatwaterError when both run different versions.
    """
    worker = get_worker()
    error = site.refusal(worker.address, site.facts(), client)
    if error is not None:
        raise error
    own: Errand = pickle.loads(errand)  # noqa: S301 (who can reach a worker can run any code on it anyway)
    lock = threading.Lock()

    def send(news: News) -> None:
        with lock:
            worker.log_event(own.topic, dict(news))

    generator = _GENERATORS[own.key] = Generator(own, send)
    try:
        with site.watched(worker) as interrupt:
            generator.work(interrupt)
    finally:
        del _GENERATORS[own.key]


def tell_clock() -> Told:
    """The clocks of this host."""
    return {"monotonic_ns": monotonic_ns(), "wall_ns": wall_ns()}


def begin_at(key: str, at_ns: int) -> float | None:
    """Tells a generator the common instant; None if there is no such generator (any more)."""
    generator = _GENERATORS.get(key)
    return generator.begin_at(at_ns) if generator is not None else None


def stop_at(key: str, at_ns: int) -> None:
    """Tells a generator when to stop."""
    generator = _GENERATORS.get(key)
    if generator is not None:
        generator.stop_at(at_ns)
