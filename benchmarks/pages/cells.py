"""Ten thousand modelled cells of 10 ms through the `local` executor."""

from __future__ import annotations

from pathlib import Path

from benchmarks.options import tell
from benchmarks.pages.figures import Figure, Section
from benchmarks.pages.model import time_models
from benchmarks.pairs import Target
from benchmarks.sweep import Swept, cores, sweep, write_sweep

NAME = "cells"
#: Requests a second and modelled seconds of a cell whose model takes about 10 ms.
TEN_MS = (20_000.0, 8)
#: Cells whose model is run alone, in each process: enough for a mean to 1 %.
MODELS = 400
OVERHEAD = Target("at most", 1.0)

HOW = """\
One sweep with as many processes as there are cores. The *model* of a cell is the engine's time: from the plan of the
cell to its last interval. It is measured in the same number of processes that run the same cells side by side and do
nothing else of them. The overhead of a cell is the time of the run without that of the models, by the cells: of
wall-clock time (run - models / processes) / cells, of CPU time (all processes - models) / cells. The run is everything
from the call to the sealed result, with the start of the processes. So a cell's overhead holds what its process does
beside the model (plan, journal, judgement, summary), too. The executor's own is what no cell did: it sends cells,
waits, merges and seals."""


def measure_cells(folder: Path, cells: int) -> Section:
    """Runs the sweep, and the models of some of its cells alone."""
    jobs = cores()
    some = max(1, min(MODELS, cells // jobs))
    before = time_models(write_sweep(folder, cells, TEN_MS), some, jobs)
    tell(f"{cells:,} cells in {jobs} processes; a model takes {1000 * before[1]:.1f} ms")
    swept = sweep(folder, cells, jobs, TEN_MS)
    after = time_models(folder / "sweep.toml", some, jobs)
    # Before and after: the machine may have become slower meanwhile.
    model_s = (before[0] + after[0]) / 2, (before[1] + after[1]) / 2
    return Section(f"{cells:,} modelled cells of 10 ms", HOW, overhead(swept, *model_s))


def overhead(swept: Swept, model_s: float, model_cpu_s: float) -> list[Figure]:
    """The figures of a sweep, a cell of which spends so much in the model."""
    run_ms, cpu_ms = swept.whole_ms, 1000 * swept.cpu_s / swept.cells
    cell_ms, cell_cpu_ms = (1000 * one / swept.cells for one in (swept.in_cells_s, swept.cells_cpu_s))
    figures = (
        ("the model, CPU", 1000 * model_cpu_s, None),
        ("overhead, wall-clock", run_ms - 1000 * model_s / swept.jobs, OVERHEAD),
        ("overhead, CPU", cpu_ms - 1000 * model_cpu_s, OVERHEAD),
        ("of it the executor's own, wall-clock", run_ms - cell_ms / swept.jobs, OVERHEAD),
        ("of it the executor's own, CPU", cpu_ms - cell_cpu_ms, OVERHEAD),
    )
    return [Figure(title, (value,), "ms", target) for title, value, target in figures]
