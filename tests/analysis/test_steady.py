from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from flatwater.analysis.steady import SteadyState, judge_window, make_rounds, steady_since
from flatwater.results.series import Series

sys.path.insert(0, str(Path(__file__).parent))
from known_series import series


def test_the_rule_speaks_after_five_rounds() -> None:
    state = SteadyState(window=5)
    assert [state.add(value) for value in (100, 101, 99, 100)] == [None] * 4
    verdict = state.add(100)
    assert verdict is not None
    assert verdict.steady
    assert verdict.rounds == 5


@pytest.mark.parametrize(
    ("means", "steady"),
    [
        ([100, 100, 100, 100, 100], True),
        ([90, 110, 90, 110, 100], True),  # a range of exactly 20 %
        ([89.9, 110.1, 90, 110, 100], False),  # a little more
        ([95, 97.5, 100, 102.5, 105], True),  # a rise of exactly 10 %
        ([94, 97, 100, 103, 106], False),  # within the range, yet rising
        ([106, 103, 100, 97, 94], False),
        ([0, 0, 0, 0, 0], False),  # dead is not steady
    ],
)
def test_snia_limits(means: list[float], steady: bool) -> None:
    assert judge_window(means).steady is steady


def test_the_window_forgets() -> None:
    state = SteadyState()
    for value in (500, 400, 300, 200):
        state.add(value)
    verdicts = [state.add(100) for _ in range(6)]
    assert [verdict.steady for verdict in verdicts if verdict] == [False, False, False, False, True, True]


def test_steady_since_the_first_of_the_steady_windows() -> None:
    values = np.concatenate([np.linspace(2000, 1000, 600), np.full(900, 1000.0)])
    assert steady_since(series(values), 60) == pytest.approx(540, abs=60)
    assert steady_since(series(values[::-1]), 60) is None
    assert steady_since(series(values[:200]), 60) is None
    assert steady_since(series([]), 60) is None


def test_steady_that_was_lost_again_does_not_count() -> None:
    values = np.concatenate([np.full(600, 1000.0), np.full(300, 500.0)])
    assert steady_since(series(values), 60) == 600


def test_rounds_are_whole_and_leave_out_what_is_marked() -> None:
    values = np.concatenate([np.full(100, 10.0), np.full(30, 1.0), np.full(57, 10.0)])
    low = values < 5
    assert make_rounds(series(values), 0, 60).mean == pytest.approx([10.0, 7.0, 8.5])
    assert make_rounds(series(values), 0, 60, low).mean == [10.0, 10.0, 10.0]
    assert make_rounds(series(values), 0, 60, values > 5).mean == []


def test_a_round_without_intervals_is_no_round() -> None:
    whole = series(np.full(300, 5.0))
    holed = type(whole)(np.delete(whole.time_s, range(60, 120)), np.delete(whole.value, range(60, 120)))
    assert make_rounds(holed, 0, 60).start_s == [0.0, 120.0, 180.0, 240.0]


def test_a_gap_takes_no_memory_however_long_it_is() -> None:
    rounds = make_rounds(Series(np.array([1.0, 2.0, 1e12 + 1, 1e12 + 2]), np.array([3.0, 4.0, 5.0, 6.0])), 0.0, 1.0)
    assert (rounds.start_s, rounds.mean) == ([0.0, 1.0, 1e12, 1e12 + 1], [3.0, 4.0, 5.0, 6.0])
