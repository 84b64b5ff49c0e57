"""Error bars must hold what they promise; the naive ones, which most benchmark scripts print, do not."""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from flatwater.analysis.autocorrelation import effective_samples, estimate_mean, student_quantile

sys.path.insert(0, str(Path(__file__).parent))
from known_series import autoregressive

SEED = 20101109


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_the_interval_covers_the_true_mean(phi: float) -> None:
    print("seed", SEED)
    values = autoregressive(phi, 300, 1000, np.random.default_rng(SEED))
    estimates = [estimate_mean(row) for row in values]
    covered = np.mean([e is not None and abs(e.mean - 100) <= e.ci95 for e in estimates])
    naive = np.mean(np.abs(values.mean(axis=1) - 100) <= 1.96 * values.std(axis=1, ddof=1) / 1000**0.5)
    assert covered >= 0.90
    assert covered <= 0.99, "an interval that always covers is too wide to be of use"
    assert naive >= 0.90 if phi == 0 else naive < 0.85


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_effective_samples_of_a_known_process(phi: float) -> None:
    values = autoregressive(phi, 1, 200_000, np.random.default_rng(SEED))[0]
    assert effective_samples(values) == pytest.approx(200_000 * (1 - phi) / (1 + phi), rel=0.1)


def test_never_more_than_there_are() -> None:
    assert effective_samples(np.tile([1.0, 2.0], 500)) <= 1000
    assert effective_samples(np.full(50, 7.0)) == 50
    assert effective_samples(np.full(50, 0.1 + 0.2)) == 50


def test_too_little_for_an_error() -> None:
    assert estimate_mean(np.array([])) is None
    assert estimate_mean(np.array([5.0])) is None
    # A straight line is worth one sample: its mean is anyone's guess.
    assert (estimate_mean(np.arange(100.0)) or pytest.fail("none")).ci95 > 20


def test_the_work_grows_like_the_samples_and_not_their_square() -> None:
    # Ten times the samples in about ten times the CPU time; every lag by itself would take a hundred times.
    values = np.random.default_rng(SEED).normal(size=1_000_000)
    small, large = (min(_timed(values[:count]) for _ in range(3)) for count in (100_000, 1_000_000))
    assert large < 40 * small


def _timed(values: np.ndarray) -> float:
    begin = time.process_time()
    effective_samples(values)
    return time.process_time() - begin


@pytest.mark.parametrize(
    ("freedom", "table"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (5, 2.5706), (10, 2.2281), (30, 2.0423), (1000, 1.9623)],
)
def test_student_quantile_is_that_of_the_tables(freedom: int, table: float) -> None:
    assert student_quantile(0.975, freedom) == pytest.approx(table, rel=0.002)


def test_student_quantile_falls_between() -> None:
    grid = [student_quantile(0.975, freedom) for freedom in np.linspace(1, 4, 40)]
    assert all(left > right for left, right in itertools.pairwise(grid))
