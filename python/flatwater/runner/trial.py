"""Estimates how long modelled cells will take to compute, from a short trial of some of them."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress

from flatwater._engine import EngineError
from flatwater.errors import FlatwaterError
from flatwater.experiment import Experiment, cell_at, count_cells
from flatwater.runner.executors.bench import Bench
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import SilentReporter

#: The first, the middle and the last cell are tried: sweeps usually go from small to large.
CELLS_TRIED = 3
#: Time to compute each of them, and time for all of them together.
TRIED_S = 0.4
PATIENCE_S = 4.0


def real_seconds(experiment: Experiment) -> float | None:
    """Seconds to compute all cells of an experiment in virtual time, with a process on each core.

    Preconditioning is not included. None if the cells are not ready soon enough (large devices whose initial state is
    simulated), or cannot be made: the run will report why.
    """
    found: list[float] = []
    worker = threading.Thread(target=_try_cells, args=(experiment, found), daemon=True)
    worker.start()
    worker.join(PATIENCE_S)
    if not found:
        return None
    cells = count_cells(experiment)
    jobs = max(1, min(len(os.sched_getaffinity(0)), cells))
    return max(sum(found) / len(found) * cells / jobs, max(found))


def _try_cells(experiment: Experiment, found: list[float]) -> None:
    last = count_cells(experiment) - 1
    for index in sorted({last * part // (CELLS_TRIED - 1) for part in range(CELLS_TRIED)}):
        with suppress(FlatwaterError, EngineError):
            found.append(_try(experiment, index))


def _try(experiment: Experiment, index: int) -> float:
    """Seconds to compute one cell."""
    bench, plan, began_s = Bench(experiment), cell_at(experiment, index), time.perf_counter()
    try:
        stack = bench.stack(plan)
        stack.prepare(SilentReporter(), Interrupt())
        run = stack.workload.start(stack.workload.plan(plan.seed))
        ready_s, computed_s, virtual_s = time.perf_counter(), 0.0, 0.0
        whole_s = plan.experiment.workload.longest_s
        while computed_s < TRIED_S and virtual_s < whole_s:
            try:
                interval = run.next_interval(TRIED_S)
            except StopIteration:  # the end of a trace that is not repeated ends the cell
                whole_s = virtual_s
                break
            computed_s = time.perf_counter() - ready_s
            virtual_s = virtual_s if interval is None else interval["end_s"]
        run.stop()
        if not virtual_s:
            raise FlatwaterError("it was not ready")
        return ready_s - began_s + computed_s / virtual_s * whole_s
    finally:
        bench.close()
