"""The lab's own dips (2010): 24,900 to 17,700 NOTPM three times an hour."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from flatwater.analysis.dips import find_dips, scatter

sys.path.insert(0, str(Path(__file__).parent))
from known_series import series

SEED = 8
SECONDS = np.arange(3600)
HIGH, LOW = 24_900.0, 17_700.0


def noisy(values: np.ndarray, share: float = 0.015) -> np.ndarray:
    return values * (1 + share * np.random.default_rng(SEED).normal(size=len(values)))


@pytest.mark.parametrize(
    "shape",
    [
        np.where(SECONDS % 1200 >= 1080, LOW, HIGH),
        HIGH - (HIGH - LOW) * np.exp(-(((SECONDS % 1200 - 600) / 60.0) ** 2)),
        (HIGH + LOW) / 2 + (HIGH - LOW) / 2 * np.cos(2 * np.pi * (SECONDS - 1200) / 1200),
    ],
    ids=["square", "bell", "sine"],
)
@pytest.mark.parametrize("interval", [1, 10])
def test_three_an_hour(shape: np.ndarray, interval: int) -> None:
    values = noisy(shape).reshape(-1, interval).mean(axis=1)
    found = find_dips(series(values, interval), interval)
    assert len(found.dips) == 3
    assert found.period_s == pytest.approx(1200, abs=20)
    for dip in found.dips:
        assert dip.depth == pytest.approx(1 - LOW / HIGH, abs=0.06)


def test_noise_alone_makes_no_dip() -> None:
    for share in (0.01, 0.05, 0.1, 0.2, 0.3):
        assert find_dips(series(noisy(np.full(28_800, 1000.0), share)), 1).dips == []


@pytest.mark.parametrize("length", [20, 60, 120])
def test_noise_that_a_short_run_cannot_average_away_makes_no_dip(length: int) -> None:
    random = np.random.default_rng(SEED)
    found = [find_dips(series(1000 * (1 + 0.13 * random.normal(size=length))), 1).dips for _ in range(500)]
    assert sum(1 for dips in found if dips) <= 25, f"seed {SEED}"


def test_one_second_is_enough_on_a_quiet_line() -> None:
    values = noisy(np.full(600, 1000.0))
    values[300] = 500
    (dip,) = find_dips(series(values), 1).dips
    assert (dip.start_s, dip.length_s) == (300, 1)
    assert dip.depth == pytest.approx(0.5, abs=0.02)


def test_one_good_interval_does_not_split_a_dip() -> None:
    values = np.full(100, 1000.0)
    values[[40, 42]] = 500
    assert [(dip.start_s, dip.length_s) for dip in find_dips(series(values), 1).dips] == [(40, 3)]
    values[[40, 43]] = 500
    values[42] = 1000
    assert len(find_dips(series(values), 1).dips) == 2


def test_a_change_of_level_is_no_dip() -> None:
    values = np.concatenate([np.full(600, 1000.0), np.full(400, 500.0)])
    assert find_dips(series(values), 1).dips == []
    assert find_dips(series(values[::-1]), 1).dips == []


def test_a_dip_cut_off_by_the_end_is_one() -> None:
    values = np.concatenate([np.full(600, 1000.0), np.full(20, 500.0)])
    assert len(find_dips(series(values), 1).dips) == 1


def test_irregular_dips_have_no_period() -> None:
    values = np.full(1000, 1000.0)
    for start in (100, 150, 700, 800):
        values[start : start + 5] = 300
    found = find_dips(series(values), 1)
    assert len(found.dips) == 4
    assert found.period_s is None


def test_nothing_to_find_in_nothing() -> None:
    assert find_dips(series([]), 1).dips == []
    assert find_dips(series(np.zeros(100)), 1).dips == []


def test_scatter_is_blind_to_slow_change() -> None:
    rng = np.random.default_rng(SEED)
    values = 1000 * np.sin(SECONDS / 600) + rng.normal(size=3600) * 7
    assert scatter(values) == pytest.approx(7, rel=0.1)
