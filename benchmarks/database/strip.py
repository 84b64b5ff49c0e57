"""What the strip of the database costs: one run, in which the server is asked in some intervals and not in others."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from benchmarks.database.programs.flatwater import experiment_changes, experiment_file
from benchmarks.database.server import TestedServer
from benchmarks.database.work import Setting, Work
from benchmarks.pairs import Ratio, alternating, ratio
from flatwater._engine import EngineError, Run
from flatwater.engine_json import to_json
from flatwater.errors import FlatwaterError
from flatwater.experiment import cell_at, load
from flatwater.probe.server import ServerProbe
from flatwater.runner.stack.stack import open_stack

#: How late an interval may be.
PATIENCE_S = 30.0
#: Samples whose CPU time is counted in this process, and the pause before each, in which the server answers.
SAMPLES, PAUSE_S = 50, 0.02


@dataclass(frozen=True)
class Strip:
    """Queries a second with and without the probe (medians), and the pairs' ratios; CPU time of one sample, ms.

    The CPU times are exact where the ratio drowns in noise: the server's is that of its thread for the probe during the
    run, the client's that of this process afterwards, when it does nothing else.
    """

    work: Work
    queries_per_s: tuple[float, float]
    ratio: Ratio
    client_cpu_ms: float
    server_cpu_ms: float


def measure_strip(
    work: Work, setting: Setting, server: TestedServer, pairs: int, interval_s: float, tell: Callable[[str], None]
) -> Strip:
    """Runs the engine in this process without a break, so that the two sides of a pair are neighbours.

    With: the probe of the server is asked once, when the interval begins, as each second of a `flatwater run`.
    Without: it is not. Latencies are recorded on both sides.
    """
    login = to_json(server.login())
    rates: dict[bool, list[float]] = {True: [], False: []}
    # Its first question, which also asks for all names, is asked here.
    probe = ServerProbe([login], [server.pid], own=True)
    try:
        thread = _only_thread(server)
        before_s = _thread_cpu_s(thread)
        with closing(_run(work, setting, interval_s)) as measured:
            next(measured)  # warms up
            for _, asked in alternating((True, False), pairs):
                if asked:
                    probe.sample()
                rates[asked].append(next(measured))
        server_cpu_ms = (_thread_cpu_s(thread) - before_s) * 1e3 / pairs
        client_cpu_ms = _client_cpu_ms(probe)
    except StopIteration:
        raise FlatwaterError("the run ended too early") from None
    finally:
        probe.close()
    ours, bare = rates[True], rates[False]
    found = ratio(ours, bare)
    tell(
        f"strip, {work.title}: {found.median:.4f} [{found.low:.4f}, {found.high:.4f}], a sample takes "
        f"{client_cpu_ms:.2f} + {server_cpu_ms:.2f} ms"
    )
    return Strip(work, (statistics.median(ours), statistics.median(bare)), found, client_cpu_ms, server_cpu_ms)


def _only_thread(server: TestedServer) -> Path:
    """The server's thread of the one session that there is: the probe's. Errors: FlatwaterError (MySQL tells none)."""
    asked = "SELECT TID FROM information_schema.PROCESSLIST WHERE USER = '{}' AND ID <> CONNECTION_ID()"
    found = server.query(asked.format(server.address().user))
    if len(found) != 1:
        raise FlatwaterError(f"{len(found)} sessions are open, not only the probe's")
    return Path(f"/proc/{server.pid}/task/{found[0][0]}")


def _thread_cpu_s(thread: Path) -> float:
    try:
        # Nanoseconds on a CPU come first; `stat` has ticks of 10 ms.
        return int((thread / "schedstat").read_text().split()[0]) / 1e9
    except (OSError, ValueError, IndexError):
        raise FlatwaterError("the kernel tells no thread's CPU time in /proc/PID/task/TID/schedstat") from None


def _client_cpu_ms(probe: ServerProbe) -> float:
    """CPU time of this process for a sample; what it takes to wait is taken off."""
    spent_s = []
    for asked in (False, True):
        before_s = time.process_time()
        for _ in range(SAMPLES):
            time.sleep(PAUSE_S)
            if asked:
                probe.sample()
        spent_s.append(time.process_time() - before_s)
    return max(0.0, spent_s[1] - spent_s[0]) * 1e3 / SAMPLES


def _run(work: Work, setting: Setting, interval_s: float) -> Generator[float]:
    """Queries a second of one interval after the other, until it is closed. Errors: FlatwaterError."""
    changes = {**experiment_changes(work, setting), "record.interval_s": interval_s}
    # In this process, so nobody else sees it.
    changes["database.url"] = f"{changes['database.url']}&password={quote(setting.address.password)}"
    experiment = load(str(experiment_file(work)), [f"{field}={value}" for field, value in changes.items()], None)
    stack = open_stack(experiment, cell_at(experiment, 0))
    try:
        run = stack.workload.start(stack.workload.plan(seed=1))
        assert isinstance(run, Run), "the load is made here"
        try:
            while True:
                interval = run.next_interval(PATIENCE_S)
                if interval is None:
                    raise FlatwaterError("the engine tells of no interval any more")
                yield interval["counters"]["queries"] / (interval["end_s"] - interval["start_s"])
        except StopIteration:
            return
        finally:
            run.stop()
            run.join(PATIENCE_S)
            if run.failure() is not None:
                raise FlatwaterError(f"the engine failed: {run.failure()}")
    except EngineError as error:
        raise FlatwaterError(f"the engine failed: {error}") from None
    finally:
        stack.release()
