"""Series of known truth: where they change is found, and nowhere else. `benchmarks/trend.py` has all figures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flatwater.analysis.change_points import (
    LEVEL_MIN,
    P_MAX,
    chance_of,
    critical_value,
    find_levels,
    smallest_step,
    weighted_t,
)


def noisy(rng: np.random.Generator, levels: list[tuple[int, float]], cv: float = 0.03) -> list[float]:
    """Values around levels: (number of values, level)."""
    means = np.concatenate([np.full(count, level) for count, level in levels])
    return list(means * (1 + cv * rng.standard_normal(len(means))))


def places(values: list[float]) -> list[int]:
    return [change.index for change in find_levels(values).changes]


def test_a_step_is_found_with_its_levels() -> None:
    (change,) = find_levels(noisy(np.random.default_rng(1), [(20, 1000.0), (20, 850.0)])).changes
    assert change.index == 20 and change.p < 1e-9
    assert change.before == pytest.approx(1000, rel=0.02) and change.after == pytest.approx(850, rel=0.02)
    assert change.ratio is not None and change.low is not None and change.high is not None
    assert change.low < 0.85 < change.high and change.low < change.ratio < change.high


def test_several_levels_each_between_its_neighbours() -> None:
    values = noisy(np.random.default_rng(2), [(15, 100.0), (20, 120.0), (18, 90.0)])
    found = find_levels(values).changes
    assert [change.index for change in found] == [15, 35]
    assert found[0].ratio == pytest.approx(1.2, rel=0.03) and found[1].ratio == pytest.approx(0.75, rel=0.03)


def test_a_level_that_came_and_went_in_a_long_series() -> None:
    values = noisy(np.random.default_rng(3), [(60, 100.0), (12, 92.0), (70, 100.0)])
    first, second = places(values)
    assert abs(first - 60) <= 2 and abs(second - 72) <= 2


def test_one_bad_run_is_no_change_and_two_are() -> None:
    values = noisy(np.random.default_rng(4), [(38, 100.0)])
    assert places([*values, 100.0, 50.0]) == []
    assert places([*values[:20], 50.0, *values[20:]]) == []
    assert places([*values, 50.0, 51.0]) == [38]


def test_what_does_not_vary() -> None:
    for values in ([], [5.0], [5.0] * 3, [5.0] * 30, [0.0] * 30, [1.0, 1.0 + 2e-16] * 10):
        assert find_levels(values).changes == []
    # A model computes the same each time, until it is another model.
    (change,) = find_levels([100.0] * 10 + [95.0] * 5).changes
    assert (change.index, change.low, change.high) == (10, pytest.approx(0.95), pytest.approx(0.95))


def test_levels_without_a_ratio() -> None:
    (change,) = find_levels([0.0] * 8 + [3.0, 3.0, 2.0, 3.0, 3.0, 4.0]).changes
    assert (change.index, change.before, change.after) == (8, 0.0, 3.0)
    assert (change.ratio, change.low, change.high) == (None, None, None)
    assert find_levels([0.0, 1.0] * 10).noise is None
    (change,) = find_levels([10.0, 11.0, 10.0, 9.0, 10.0, 0.0, 1.0, 0.0, 1.0, 0.0]).changes
    assert change.index == 5 and change.ratio == pytest.approx(0.04) and change.high is not None and change.high < 0.2


@pytest.mark.parametrize(("runs", "above"), [(6, 1.0), (12, 1.02), (40, 1.3)])
def test_the_chance_is_that_of_noise(runs: int, above: float) -> None:
    """Worsley's bound is exact for up to two places, and the closer to the truth the smaller the chance."""
    largest = weighted_t(np.random.default_rng(5).standard_normal((40_000, runs))).max(axis=1)
    for share in (0.01, 0.002):
        accident = 3.5 / math.sqrt(40_000 * share)
        found = chance_of(runs, float(np.quantile(largest, 1 - share)))
        assert share * (1 - accident) < found < share * above * (1 + accident)


def test_chances_at_the_ends() -> None:
    assert chance_of(20, 0.0) == 1 and chance_of(20, 1e-9) == pytest.approx(1)
    assert chance_of(20, 1e6) < 1e-60
    falling = [chance_of(30, statistic) for statistic in np.linspace(2.5, 8, 40)]
    assert falling == sorted(falling, reverse=True)
    assert critical_value(2 * LEVEL_MIN - 1) == math.inf
    assert chance_of(17, critical_value(17)) == pytest.approx(P_MAX, rel=1e-3)


def test_the_goals_in_small() -> None:
    """Steps of 5 % with noise of 3 %: seed 6. Expected are 87 % of 40 runs and 96 % of 50; 4 false alarms in 4,000."""
    rng = np.random.default_rng(6)
    found = {runs: sum(bool(places(noisy(rng, [(runs // 2, 1.0), (runs // 2, 0.95)]))) for _ in range(300))
             for runs in (40, 50)}  # fmt: skip
    assert found[40] >= 240 and found[50] >= 275
    assert sum(bool(places(noisy(rng, [(40, 1.0)]))) for _ in range(4000)) <= 12


def test_outliers_raise_no_alarms() -> None:
    rng = np.random.default_rng(7)
    series = [[value * (0.7 if rng.random() < 0.03 else 1) for value in noisy(rng, [(40, 1.0)])] for _ in range(2000)]
    assert sum(bool(places(values)) for values in series) <= 10


def test_the_smallest_step_is_found_in_most_series() -> None:
    rng = np.random.default_rng(8)
    step = 0.02 * smallest_step(30)
    found = sum(bool(places(noisy(rng, [(15, 1.0), (15, math.exp(-step))], 0.02))) for _ in range(400))
    assert 0.92 * 400 <= found < 400
    levels = find_levels(noisy(rng, [(30, 1.0)], 0.02))
    assert levels.noise == pytest.approx(0.02, rel=0.35)
    assert levels.found_from == pytest.approx(math.expm1(smallest_step(30) * (levels.noise or 0)))
    assert find_levels([1.0, 1.1, 0.9]).found_from is None


@example([0.0, 1.0, 4e80, 4e80])  # the square of the first level's variance is zero
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30))
def test_any_finite_values(values: list[float]) -> None:
    found = find_levels(values).changes
    assert all(LEVEL_MIN <= change.index <= len(values) - LEVEL_MIN and 0 <= change.p <= P_MAX for change in found)
    assert [change.index for change in found] == sorted({change.index for change in found})


@given(st.integers(0, 50), st.floats(1e-6, 1e6))
def test_the_unit_does_not_matter(seed: int, unit: float) -> None:
    values = noisy(np.random.default_rng(seed), [(12, 100.0), (14, 88.0)])
    assert places([unit * value for value in values]) == places(values)
