"""How long an experiment takes: the time of its cells, in their own clock and in that of the world."""

from __future__ import annotations

import math
from collections.abc import Callable

from flatwater.experiment.cells import count_cells, make_cell
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.sweep import Sweep

#: The fields that decide the time of a cell.
_TIME_FIELDS = {
    "workload.duration_s",
    "workload.warmup_s",
    "workload.steady_state",
    "workload.round_s",
    "workload.rounds_max",
}
#: If a sweep has more different times than this, an even sample of them is used.
_MOST_TIMES = 1000


def cell_seconds(experiment: Experiment) -> Callable[[int], float]:
    """Maximum seconds of warm-up and measurement of a cell, by its number. One cell is made for each different time."""
    timed = [field for field in experiment.sweep.fields if field in _TIME_FIELDS]
    positions = experiment.sweep.positions
    known: dict[tuple[str, ...], float] = {}

    def seconds(index: int) -> float:
        values = experiment.sweep.values_at(index % positions) if timed or not known else {}
        times = tuple(repr(values[field]) for field in timed)
        if times not in known:
            known[times] = make_cell(experiment, values).workload.longest_s
        return known[times]

    return seconds


def longest_s(experiment: Experiment) -> float:
    """Maximum seconds of warm-up and measurement of all cells together.

    Preparation and preconditioning are not included: they depend on the device. The cells are not built.
    """
    timed = [dimension for dimension in experiment.sweep.dimensions if _TIME_FIELDS & dimension.keys()]
    times = Sweep(zips=timed)
    step = math.ceil(times.positions / _MOST_TIMES)
    sampled = [
        make_cell(experiment, times.values_at(position)).workload.longest_s
        for position in range(0, times.positions, step)
    ]
    return sum(sampled) / len(sampled) * count_cells(experiment)
