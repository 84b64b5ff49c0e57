"""How far the mean of a run is from that of another of the same: by its seconds, by experience, and by repeats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pytest

from flatwater.results import Cell
from flatwater.results.schema import CellSummary
from flatwater.results.series import Series
from flatwater.what_if.noise import BETWEEN_RUNS, Z95, run_noise


@dataclass
class _Run:
    """A cell with its summary, and with its seconds."""

    summary: CellSummary
    seconds: Sequence[float]

    def measured(self, layer: str, metric: str) -> Series:
        assert (layer, metric) == ("workload", "throughput")
        return Series(np.arange(len(self.seconds), dtype=np.float64), np.array(self.seconds))


def run(mean: float, ci95: float | None, seconds: Sequence[float] = ()) -> Cell:
    summary = CellSummary(cell=0, seed=1, status="complete", unit="tps", mean=mean, mean_ci95=ci95)
    return cast(Cell, _Run(summary, seconds))


def test_one_run_has_the_noise_of_its_seconds_and_that_between_runs() -> None:
    assert run_noise([run(100.0, Z95 * 3)]) == pytest.approx(math.hypot(0.03, BETWEEN_RUNS))
    assert run_noise([run(100.0, 0.0)]) == pytest.approx(BETWEEN_RUNS)


def test_repeats_tell_it_themselves() -> None:
    assert run_noise([run(mean, 0.0) for mean in (90.0, 110.0)]) == pytest.approx(math.sqrt(200) / 100)
    assert run_noise([run(100.0, Z95 * 5)] * 2) == pytest.approx(0.05)


def test_a_run_without_two_independent_samples_is_not_without_noise() -> None:
    found = run_noise([run(100.0, None, (80.0, 90.0, 110.0, 120.0))])
    assert found == pytest.approx(math.hypot(math.sqrt(1000 / 3) / 100, BETWEEN_RUNS))
