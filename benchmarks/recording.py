"""What recording costs: the same workload with everything recorded and with nothing but a count, in turns."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.job import FILE_NAME, Setting
from benchmarks.pairs import Ratio, alternating, ratio
from benchmarks.programs.flatwater import EXPERIMENT
from flatwater._engine import EngineError, FileioRun
from flatwater.errors import FlatwaterError
from flatwater.experiment import load
from flatwater.probe import start_probes
from flatwater.runner.journal import Journal
from flatwater.runner.spec import workload_spec
from flatwater.runner.target import open_target

#: Small enough for any machine's page cache, and for the rest of it to stay out of the way.
HOT_BYTES = 64 * 2**20
#: Intervals of a turn: the first is not counted, the others pay for writing down the one before.
INTERVALS = 3


@dataclass(frozen=True)
class Case:
    """A workload of 16 KiB random reads. `hot` reads from the page cache: no device hides the CPU time."""

    engine: Literal["io_uring", "psync"]
    threads: int
    depth: int
    hot: bool

    @property
    def title(self) -> str:
        """The case in a table's cell."""
        load = f"depth {self.depth}" if self.engine == "io_uring" else f"{self.threads} threads"
        if self.threads == self.depth == 1:
            load = "1 thread"
        return f"{self.engine}, {load}, {'from the page cache' if self.hot else 'O_DIRECT on the device'}"


@dataclass(frozen=True)
class Cost:
    """Requests a second with and without recording (medians), and the rounds' ratios."""

    case: Case
    recorded_iops: float
    bare_iops: float
    ratio: Ratio


CASES = (
    Case("psync", 1, 1, hot=True),
    Case("psync", 64, 1, hot=True),
    Case("io_uring", 1, 32, hot=True),
    Case("io_uring", 1, 32, hot=False),
)


def measure_cost(case: Case, setting: Setting, rounds: int, interval_s: float, tell: Callable[[str], None]) -> Cost:
    """Runs the engine in this process in short turns, so that the two sides of a pair are seconds apart.

    Recorded is what `flatwater run` does: latencies, requests in flight, probes, a journal line each interval. Bare is
    `workload.record_latency = false` with no probes and no journal.
    """
    name, size = ("hot", HOT_BYTES) if case.hot else (FILE_NAME, setting.size_bytes)
    path = setting.folder / name
    if not path.exists():
        path.write_bytes(bytes(size))
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
        spec = workload_spec(experiment, target, seed=1)
    finally:
        target.release()
    while case.hot and len(path.read_bytes()) < size:
        raise FlatwaterError(f"{path} is too short")
    rates: dict[bool, list[float]] = {True: [], False: []}
    for _, recorded in alternating((True, False), rounds):
        rates[recorded].append(_turn(spec, path, recorded=recorded))
    found = ratio(rates[True], rates[False])
    recorded_iops, bare_iops = (sorted(rates[side])[rounds // 2] for side in (True, False))
    tell(f"recording, {case.title}: {recorded_iops:,.0f} / {bare_iops:,.0f} = {found.median:.3f}")
    return Cost(case, recorded_iops, bare_iops, found)


def _turn(spec: dict[str, object], path: Path, *, recorded: bool) -> float:
    """Requests a second of one turn."""
    journal_path = path.with_name("journal.jsonl")
    try:
        with Journal(journal_path, start_probes(path) if recorded else [], "IOPS") as journal:
            run = FileioRun(json.dumps(spec | {"record": recorded}))
            operations, measured_s, seen = 0, 0.0, 0
            offset_s = journal.at_s
            while seen < INTERVALS:
                interval = run.next_interval(1.0)
                if interval is None:
                    continue
                if recorded:
                    journal.interval(interval, offset_s, "measure")
                seen += 1
                if seen > 1:
                    operations += interval["totals"]["read"][0]
                    measured_s += interval["end_s"] - interval["start_s"]
            run.stop()
            if not run.join(60.0):
                raise FlatwaterError("the device does not answer")
    except (EngineError, StopIteration) as error:
        raise FlatwaterError(f"the engine failed: {error}") from None
    return operations / measured_s
