"""The cost of recording: one workload with everything recorded and with only a count, in turns."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from benchmarks.job import FILE_NAME, Setting
from benchmarks.pairs import Ratio, alternating, ratio
from benchmarks.programs.flatwater import EXPERIMENT
from flatwater._engine import EngineError, Run
from flatwater.engine_json import to_json
from flatwater.errors import FlatwaterError
from flatwater.experiment import load
from flatwater.plan.fileio import RealFileio
from flatwater.probe import start_probes
from flatwater.runner.journal import Journal
from flatwater.runner.stack.target.opening import open_target
from flatwater.runner.stack.target.plans import plan_of_target

#: Small enough for the page cache of any machine.
HOT_BYTES = 64 * 2**20
#: Intervals of a turn. The first is not counted. Each of the others includes writing the one before.
INTERVALS = 3


@dataclass(frozen=True)
class Case:
    """A workload of 16 KiB random reads. `hot`: they come from the page cache, where no device hides the CPU time."""

    engine: Literal["io_uring", "psync"]
    threads: int
    depth: int
    hot: bool

    @property
    def title(self) -> str:
        """The title of the case in a table."""
        load = f"depth {self.depth}" if self.engine == "io_uring" else f"{self.threads} threads"
        if self.threads == self.depth == 1:
            load = "1 thread"
        return f"{self.engine}, {load}, {'from the page cache' if self.hot else 'O_DIRECT on the device'}"


@dataclass(frozen=True)
class Cost:
    """Requests per second and CPU time of each, with and without recording (medians); the ratios of IOPS by round."""

    case: Case
    iops: tuple[float, float]
    cpu_us: tuple[float, float]
    ratio: Ratio


CASES = (
    Case("psync", 1, 1, hot=True),
    Case("psync", 64, 1, hot=True),
    Case("io_uring", 1, 32, hot=True),
    Case("io_uring", 1, 32, hot=False),
)


def measure_cost(case: Case, setting: Setting, rounds: int, interval_s: float, tell: Callable[[str], None]) -> Cost:
    """Runs the engine in this process in short turns, so that both sides of a pair are only seconds apart.

    The recorded side does what `flatwater run` does: latencies, requests in flight, probes, a journal line for each
    interval. The other side has `workload.record_latency = false`, no probes and no journal.
    """
    name, size = ("hot", HOT_BYTES) if case.hot else (FILE_NAME, setting.size_bytes)
    path = setting.folder / name
    if not path.exists():
        with path.open("wb") as handle:
            handle.write(bytes(size))
            os.fsync(handle.fileno())
    changes = {
        "storage.path": path,
        "storage.size": size,
        "workload.engine": case.engine,
        "workload.threads": case.threads,
        "workload.queue_depth": case.depth,
        "workload.direct": "false" if case.hot else "true",
        "record.interval_s": interval_s,
    }
    experiment = load(str(EXPERIMENT), [f"{field}={value}" for field, value in changes.items()], None)
    target = open_target(experiment)
    try:
        plan = plan_of_target(experiment, target, seed=1)
    finally:
        target.release()
    if case.hot:
        path.read_bytes()
    turns: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for _, recorded in alternating((True, False), rounds):
        turns[recorded].append(_turn(plan, path, recorded=recorded))
    iops, cpu_us = ([[turn[part] for turn in turns[side]] for side in (True, False)] for part in (0, 1))
    found = ratio(*iops)
    tell(f"recording, {case.title}: {found.median:.3f} [{found.low:.3f}, {found.high:.3f}]")
    return Cost(case, _medians(iops), _medians(cpu_us), found)


def _medians(sides: list[list[float]]) -> tuple[float, float]:
    return statistics.median(sides[0]), statistics.median(sides[1])


def _turn(plan: RealFileio, path: Path, *, recorded: bool) -> tuple[float, float]:
    """Requests per second of one turn, and CPU time of each, us."""
    journal_path = path.with_name("journal.jsonl")
    journal_path.unlink(missing_ok=True)
    try:
        with Journal(journal_path, "IOPS") as journal:
            journal.probes = start_probes(path) if recorded else []
            run = Run.fileio(to_json(replace(plan, record=recorded)))
            operations, measured_s, cpu_s, seen = 0, 0.0, 0.0, 0
            while seen < INTERVALS:
                interval = run.next_interval(1.0)
                if interval is None:
                    continue
                if recorded:
                    journal.interval(interval, 0.0, "measure")
                seen += 1
                spent_s = interval["cpu_s"]
                if seen > 1 and spent_s is not None:
                    operations += interval["totals"]["read"][0]
                    measured_s += interval["end_s"] - interval["start_s"]
                    cpu_s += spent_s
            run.stop()
            if not run.join(60.0):
                raise FlatwaterError("the device does not answer")
    except (EngineError, StopIteration) as error:
        raise FlatwaterError(f"the engine failed: {error}") from None
    return operations / measured_s, cpu_s * 1e6 / operations
