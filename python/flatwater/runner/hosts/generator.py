"""A load generator: what runs on a load host, as a task of its dask worker.

The task connects the sessions of this host and waits. Then it is told the common instant. Its news go to the run
through dask's events. It ends when it is told to stop, or when the run does not want it any more.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from distributed import get_worker

from flatwater._engine import EngineError, Run
from flatwater.engine_json import to_json
from flatwater.errors import UserError
from flatwater.probe.cpu import CpuProbe
from flatwater.probe.disk import DiskProbe
from flatwater.runner.executors import site
from flatwater.runner.hosts.messages import Errand, FilesOfHost, News, State, Told
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.stack.layers.shared import Shared
from flatwater.runner.stack.target.shared import Seen, see

#: A generator without an interval to tell says at least this often that it is alive.
ALIVE_EVERY_S = 0.5
#: How often a generator that waits for the common instant looks for it.
LOOK_S = 0.02
#: After the run was told to stop, how long its outstanding transactions may take.
DRAIN_S = 60.0
#: The run asks for the time every 10 s. Without a question for so long it is lost, and nobody would stop this load.
UNASKED_S = 45.0
#: Of a host's own device below a fileio load.
DEVICE_SERIES = ("utilisation_pct", "read_await_us", "write_await_us", "read_bytes_per_s", "write_bytes_per_s")

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
        self.asked_at_s = time.monotonic()

    def work(self, interrupt: Interrupt) -> None:
        """Runs to the end. A failure is part of the news."""
        self._tell("connecting")
        work = self._errand.work
        try:
            if isinstance(work, FilesOfHost):
                with closing(see(work.target)) as seen:
                    self._run_to_end(_start_fileio(work, seen), interrupt, DiskProbe(work.target.path, ""))
            else:
                self._run_to_end(Run.database(work), interrupt)
        except (EngineError, UserError) as error:
            self._tell("over", failure=str(error), ended_by=str(error))

    def _run_to_end(self, run: Run, interrupt: Interrupt, device: DiskProbe | None = None) -> None:
        self._run = run
        state: State = "connecting"
        probe, own = CpuProbe(), dict[str, float]()
        unasked: str | None = None
        alive_at = 0.0
        stopped_at: float | None = None
        while True:
            if run.begun_ns() is not None and time.monotonic() - self.asked_at_s > UNASKED_S:
                unasked = f"the run has not asked for the time for {UNASKED_S:.0f} s (is the network to it down?)"
            if interrupt.requested or unasked is not None or self._is_time_to_stop():
                run.stop()
                stopped_at = stopped_at or time.monotonic()
            if stopped_at is not None and time.monotonic() - stopped_at > DRAIN_S:
                break
            try:
                part = run.next_part(LOOK_S)
            except StopIteration:
                break
            if part is not None:
                own = _of_this_host(probe) | _of_its_device(device)
            now_state: State = "running" if run.begun_ns() is not None else "ready" if run.is_ready() else "connecting"
            if part is not None or now_state != state or time.monotonic() - alive_at > ALIVE_EVERY_S:
                state, alive_at = now_state, time.monotonic()
                self._tell(state, part=part, own=own if part is not None else {})
        self._tell("over", failure=run.failure() or unasked, ended_by=run.ended_by() or unasked, warning=run.warning())

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
        ended_by: str | None = None,
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
                "ended_by": ended_by,
                "warning": warning,
            }
        )
        self._number += 1


def _start_fileio(work: FilesOfHost, seen: Seen) -> Run:
    permit = seen.permit.files if seen.permit is not None else None
    return Run.fileio(to_json(replace(work.plan, permit=permit)), None)


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


def _of_its_device(probe: DiskProbe | None) -> dict[str, float]:
    """What the device below the files did, as this host sees it; nothing if its path is on a network."""
    told = probe.sample() if probe is not None else {}
    return {f"device_{name}": told[name] for name in DEVICE_SERIES if name in told}


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


def look_for(target: bytes) -> str | None:
    """Why this host may not use a target of a fileio load; None if it may."""
    wanted: Shared = pickle.loads(target)  # noqa: S301 (as above)
    try:
        see(wanted).close()
    except UserError as error:
        return str(error)
    return None


def has_ended(key: str) -> bool:
    """Whether a generator sends nothing any more."""
    return key not in _GENERATORS


def tell_clock() -> Told:
    """The clocks of this host."""
    for generator in list(_GENERATORS.values()):
        generator.asked_at_s = time.monotonic()
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
