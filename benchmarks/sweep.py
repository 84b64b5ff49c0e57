"""The cost of a sweep of modelled cells beyond the cells: `python -m benchmarks.sweep [--cells N] [--rounds N] ...`.

Three tables:

- **Cost**: many tiny cells (a memory appliance, one modelled second, 10 requests). The executor's own cost a cell is
  (processes x wall time of the sweep - time that the processes spent in cells + CPU of the parent) / cells: everything
  that is not a cell, the start of the processes too. Making and merging the result is told apart.
- **Growth**: the same with a quarter of the cells: a cost a cell that grew with their number would be quadratic.
- **Scaling**: cells of about 50 ms of CPU, in one process and in two, side by side in alternating rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from benchmarks.pairs import Ratio, Target, alternating, ratio
from flatwater.errors import Interrupted
from flatwater.experiment import load
from flatwater.results import CellSummary
from flatwater.runner.executors import LOCAL, make_executor
from flatwater.runner.progress import SilentReporter
from flatwater.runner.sweep import run_experiment

#: The limit for the executor's cost of a cell.
COST_MS = Target("at most", 1.0)
#: The limit for the speed of two processes / that of one.
SCALING = Target("at least", 1.8)
#: Requests per second of a tiny cell, and its modelled seconds; then the same for a cell of about 50 ms.
TINY = (10.0, 1)
FIFTY_MS = (20_000.0, 40)

#: Cells of about 50 ms in a round.
SCALING_CELLS = 100

_APPLIANCE = """\
kind = "memory"
title = "An appliance whose figures do not matter"
capacity = "1GiB"
latency_us = 20
read_mib_per_s = 4000
write_mib_per_s = 4000
[sources]
capacity = "chosen"
latency_us = "chosen"
read_mib_per_s = "chosen"
write_mib_per_s = "chosen"
"""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Swept:
    """One sweep: seconds of its parts, and the time of its cells."""

    cells: int
    jobs: int
    #: Until the first cell finished: planning, making the folder, starting the processes.
    begin_s: float
    #: From the end of the first cell to the end of the last.
    cells_s: float
    #: Merging and sealing the result.
    seal_s: float
    in_cells_s: float
    cells_cpu_s: float
    #: CPU of the process that distributes the cells, until the last one finished; 0 if it runs them itself.
    parent_cpu_s: float
    #: CPU of all processes, from the start to the sealed result.
    cpu_s: float = 0.0

    @property
    def per_s(self) -> float:
        """Cells per second while cells run."""
        return (self.cells - 1) / self.cells_s

    @property
    def own_ms(self) -> float:
        """The executor's own cost of a cell."""
        idle_s = self.jobs * (self.begin_s + self.cells_s) - self.in_cells_s
        return (idle_s + self.parent_cpu_s) / self.cells * 1000

    @property
    def whole_ms(self) -> float:
        """Wall time of a cell, from the command to the sealed result."""
        return (self.begin_s + self.cells_s + self.seal_s) / self.cells * 1000


def write_sweep(folder: Path, cells: int, kind: tuple[float, int]) -> Path:
    """Writes the experiment of a sweep of `cells` cells."""
    rate_per_s, seconds = kind
    (folder / "appliance.toml").write_text(_APPLIANCE)
    file = folder / "sweep.toml"
    content = {
        "workload": {"mode": "rndrw", "duration_s": seconds},
        "storage": {"kind": "memory", "device": str(folder / "appliance.toml"), "size": "64MiB"},
        # The cells do nearly the same work, but no two are equal.
        "sweep": {"workload.rate_per_s": [rate_per_s * (1 + number * 1e-7) for number in range(cells)]},
    }
    file.write_text(tomli_w.dumps(content))
    return file


def sweep(folder: Path, cells: int, jobs: int, kind: tuple[float, int]) -> Swept:
    """Runs a sweep of `cells` cells in a new folder. Errors: Interrupted."""
    experiment = load(write_sweep(folder, cells, kind))
    ended: list[float] = []
    cpu: list[float] = []

    def note(summary: CellSummary, done: int, total: int) -> None:
        assert summary.status == "complete", summary.error
        ended.append(time.perf_counter())
        cpu.append(time.process_time())

    with tempfile.TemporaryDirectory(dir=folder) as out:
        begun, cpu_begun, all_begun_s = time.perf_counter(), time.process_time(), _cpu_s()
        outcome = run_experiment(
            experiment, Path(out) / "result", SilentReporter(), note, executor=make_executor(LOCAL, jobs)
        )
        over, spent_s = time.perf_counter(), _cpu_s() - all_begun_s
        if outcome.status == "interrupted":
            raise Interrupted(outcome.error or "interrupted")
    return Swept(
        cells,
        jobs,
        begin_s=ended[0] - begun,
        cells_s=ended[-1] - ended[0],
        seal_s=over - ended[-1],
        in_cells_s=outcome.cells_took.wall_s,
        cells_cpu_s=outcome.cells_took.cpu_s,
        parent_cpu_s=cpu[-1] - cpu_begun if jobs > 1 else 0.0,
        cpu_s=spent_s,
    )


def _cpu_s() -> float:
    """CPU of this process, and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def scaling(folder: Path, cells: int, rounds: int) -> tuple[Ratio, float]:
    """Cells per second of two processes / those of one; the CPU milliseconds of a cell."""
    found: dict[int, list[Swept]] = {1: [], 2: []}
    for _, jobs in alternating((1, 2), rounds):
        found[jobs].append(sweep(folder, cells, jobs, FIFTY_MS))
    cpu_ms = statistics.median(one.cells_cpu_s / one.cells * 1000 for one in found[1])
    return ratio([one.per_s for one in found[2]], [one.per_s for one in found[1]]), cpu_ms


def page(costs: list[Swept], scaled: Ratio, cpu_ms: float, cells: int) -> str:
    """The tables."""
    head = ["cells", "processes", "cells/s", "executor, ms", "cell's own CPU, ms", "merging, ms", "all, ms of wall"]
    lines = [head, ["---"] * len(head)]
    for one in costs:
        figures = [one.own_ms, one.cells_cpu_s / one.cells * 1000, one.seal_s / one.cells * 1000, one.whole_ms]
        counts = [f"{one.cells:,}", f"{one.jobs}", f"{one.per_s:,.0f}"]
        lines.append([*counts, *(f"{figure:.2f}" for figure in figures)])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    largest = max(costs, key=lambda one: one.cells)
    held = "met" if COST_MS.holds(largest.own_ms) else "**not met**"
    spread = f"{scaled.low:.2f} to {scaled.high:.2f}, {scaled.rounds} rounds"
    return f"""\
{table}

Milliseconds are those of one cell. The executor's own, of {largest.cells:,} cells, {COST_MS.text()}: {held}.
Two processes over one, {cells} cells of {cpu_ms:.0f} ms: {scaled.median:.2f} ({spread}), {SCALING.text()}: \
{scaled.verdict(SCALING)}."""


def measure(folder: Path, cells: int, rounds: int, jobs: int, scaling_cells: int) -> str:
    """Measures in `folder`; the tables."""
    costs = [sweep(folder, count, jobs, TINY) for count in (cells // 4, cells)]
    scaled, cpu_ms = scaling(folder, scaling_cells, rounds)
    return page(costs, scaled, cpu_ms, scaling_cells)


def main(arguments: list[str]) -> str:
    """Measures; the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep", description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=10_000, help="tiny cells of the largest sweep")
    parser.add_argument("--scaling-cells", type=int, default=SCALING_CELLS, help="cells of about 50 ms a round")
    parser.add_argument("--rounds", type=int, default=6, help="rounds of one process beside two")
    parser.add_argument("--jobs", type=int, default=cores(), help="processes for the tiny cells")
    parser.add_argument("--dir", type=Path, help="where results are written")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="flatwater-bench-", dir=options.dir) as name:
        return measure(Path(name), options.cells, options.rounds, options.jobs, options.scaling_cells)


if __name__ == "__main__":
    print(main(sys.argv[1:]))
