"""How long modelled cells will take in this world, by computing a little of some of them."""

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

#: The first cell, the last one and the middle one: sweeps go from little to much.
CELLS_TRIED = 3
#: Each is computed for so long, and all of them have so long to get there.
TRIED_S = 0.4
PATIENCE_S = 4.0


def real_seconds(experiment: Experiment) -> float | None:
    """Seconds of this world that all cells of an experiment in virtual time take, as many at once as there are cores.

    Preconditioning comes on top. None where the cells are not ready soon enough to tell (large devices that are
    simulated into their first state), or cannot be made: the run says why.
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
    """Seconds of one cell."""
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
            except StopIteration:  # a trace that is not repeated has come to its end, and so has the cell
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
