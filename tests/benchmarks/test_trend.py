"""The page of `benchmarks.trend`: what is drawn is what is said, and the same seed gives the same page."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.trend import (
    BEGIN,
    END,
    PAGE,
    WAYS,
    draw_series,
    energy,
    following,
    known_noise,
    normal,
    place_t,
    read,
    share_found,
)

from flatwater.analysis.change_points import LEVEL_MIN, find_levels


def test_series_of_known_truth() -> None:
    rng = np.random.default_rng(1)
    drawn = draw_series(rng, normal, 4000, 10, cv=0.02, step=0.1, after=4)
    assert drawn.shape == (4000, 10)
    assert drawn[:, :6].mean() == pytest.approx(1, abs=0.001) and drawn[:, 6:].mean() == pytest.approx(0.9, abs=0.001)
    assert drawn[:, :6].std() == pytest.approx(0.02, rel=0.02)
    noise = following(0.4)(rng, 4000, 10)
    assert noise.std() == pytest.approx(1, rel=0.03)
    assert float(np.mean(noise[:, 1:] * noise[:, :-1])) == pytest.approx(0.4, abs=0.03)


def test_the_other_searches_by_hand() -> None:
    series = np.array([[1.0, 2.0, 1.0, 5.0, 6.0]])
    # Two places: {1, 2 | 1, 5, 6} and {1, 2, 1 | 5, 6}. Pooled standard deviations are sqrt(14.5 / 3) and sqrt(7 / 18).
    expected = [2.5 / np.sqrt(14.5 / 3 * (1 / 2 + 1 / 3)), (5.5 - 4 / 3) / np.sqrt((2 / 3 + 0.5) / 3 * (1 / 3 + 1 / 2))]
    assert place_t(series)[0] == pytest.approx(expected)
    # Sums before the places less their share: 3 - 6 and 4 - 9.
    assert known_noise(series)[0] == pytest.approx([2 * 3 / np.sqrt(5) / 0.03, 2 * 5 / np.sqrt(5) / 0.03])
    pairs = np.abs(series[0][:, None] - series[0][None, :])
    left, right = slice(0, 3), slice(3, 5)
    distance = 2 * pairs[left, right].mean() - pairs[left, left].mean() - pairs[right, right].mean()
    assert energy(series)[0, 3 - LEVEL_MIN] == pytest.approx(3 * 2 / 5 * distance / pairs.mean())


def test_many_series_at_once_are_told_as_one_by_one() -> None:
    drawn = draw_series(np.random.default_rng(3), normal, 300, 40, cv=0.03, step=0.04, after=15)
    found = sum(bool(find_levels(one).changes) for one in drawn)
    assert share_found(drawn) == found / 300 and 30 < found < 270


def test_every_search_gives_one_statistic_a_series() -> None:
    drawn = draw_series(np.random.default_rng(2), normal, 7, 40, cv=0.03, step=0.05, after=20)
    assert {way.title: way.statistic(drawn).shape for way in WAYS} == {way.title: (7,) for way in WAYS}


def test_the_page_has_a_place_for_it() -> None:
    text = PAGE.read_text()
    assert text.count(BEGIN) == text.count(END) == 1
    options = read(["--quick"])
    assert options.out is None and read([]).out == PAGE and options.series < read([]).series
