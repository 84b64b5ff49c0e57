"""Whether redo still fell after the load, from windows made by hand."""

from __future__ import annotations

import random
from typing import cast

from flatwater.experiment import Experiment
from flatwater.fit.workload.counters import CountedCell, Window
from flatwater.fit.workload.settled import unsettled


def cell(*redo_bytes: float, mode: str = "write_only") -> CountedCell:
    """A cell whose windows have 100 transactions each, with so much redo a transaction."""
    windows = [Window(5.0, 100, 300, 3000, 50, 40, 100 * redo, 1e6) for redo in redo_bytes]
    return CountedCell(cast(Experiment, None), {"workload.mode": mode}, 64 << 20, None, None, 1000, windows)


def test_redo_that_fell_is_told_of_the_cell_in_which_it_fell_most() -> None:
    told = unsettled([cell(1000, 960), cell(4000, 4000, 3000, 3000, mode="update_index"), cell(2000, 1800)])
    assert told is not None and "from 4,000 to 3,000 bytes a transaction (mode update_index)" in told


def test_what_stays_or_grows_or_is_next_to_nothing_has_settled() -> None:
    assert unsettled([cell(1000, 960), cell(1000, 1500), cell(1000)]) is None
    # A server's own work, among transactions that only read.
    assert unsettled([cell(0.4, 0.1, mode="read_only"), cell(0, 0)]) is None


def run(seed: int, fall: float) -> list[CountedCell]:
    """Ten cells of three windows with 5 % of noise; in one of them redo falls by this share after the first window."""
    noise = random.Random(seed)
    falls = [1.0, 1.0 - fall, 1.0 - fall]
    return [
        cell(*(3000 * noise.gauss(1.0, 0.05) * (falls[at] if number == 4 else 1.0) for at in range(3)))
        for number in range(10)
    ]


def test_chance_is_seldom_told_and_a_fall_mostly() -> None:
    seeds = range(300)
    assert sum(unsettled(run(seed, 0.0)) is not None for seed in seeds) < 0.1 * len(seeds)
    assert sum(unsettled(run(seed, 0.3)) is not None for seed in seeds) > 0.9 * len(seeds)
