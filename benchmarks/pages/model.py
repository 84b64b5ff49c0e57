"""The models of some cells of a sweep, and nothing else of them: `python -m benchmarks.pages.model FILE FIRST COUNT`.

Prints the wall-clock and the CPU seconds of a model, as a JSON list.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.job import run_child
from flatwater._engine import Run
from flatwater.engine_json import to_json
from flatwater.experiment import cell_at, load
from flatwater.experiment.workload.fileio import Fileio
from flatwater.plan.fileio import write_modelled_fileio

_ROOT = Path(__file__).parents[2]


def time_models(file: Path, cells: int, jobs: int) -> tuple[float, float]:
    """Wall-clock and CPU seconds of a cell's model, if `jobs` processes run them side by side as a sweep does."""

    def one(number: int) -> list[float]:
        words = [sys.executable, "-m", "benchmarks.pages.model", str(file), str(number * cells), str(cells)]
        found: list[float] = json.loads(run_child(words, _ROOT).output)
        return found

    with ThreadPoolExecutor(jobs) as together:
        wall_s, cpu_s = zip(*together.map(one, range(jobs)), strict=True)
    return sum(wall_s) / jobs, sum(cpu_s) / jobs


def _main(file: Path, first: int, count: int) -> tuple[float, float]:
    experiment = load(file)
    wall_s = cpu_s = 0.0
    for index in range(first, first + count):
        cell = cell_at(experiment, index).experiment
        assert isinstance(cell.workload, Fileio)
        plan, seconds = to_json(write_modelled_fileio(cell, cell.seed)), round(cell.workload.duration_s)
        began_s, began_cpu_s = time.perf_counter(), time.process_time()
        run = Run.modelled(plan)
        for _ in range(seconds):
            assert run.next_interval(0.0) is not None, run.failure()
        wall_s += time.perf_counter() - began_s
        cpu_s += time.process_time() - began_cpu_s
    return wall_s / count, cpu_s / count


if __name__ == "__main__":
    print(json.dumps(_main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
