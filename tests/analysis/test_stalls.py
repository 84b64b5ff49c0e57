from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from flatwater.analysis.stalls import during, find_stalls
from flatwater.results import Stall
from flatwater.results.series import EMPTY, Series

sys.path.insert(0, str(Path(__file__).parent))
from known_series import series


def dead(length: int, at: int, of: int = 60, rate: float = 1000.0) -> Series:
    values = np.full(of, rate)
    values[at : at + length] = 0
    return series(values)


def test_nothing_done_while_something_waits() -> None:
    oldest = np.full(60, 500.0)
    oldest[30:32] = [900_000, 1_900_000]
    (stall,) = find_stalls(dead(2, 30), series(np.full(60, 8.0)), series(oldest), 1.0)
    assert (stall.start_s, stall.length_s, stall.oldest_us) == (30, 2, 1_900_000)


def test_idle_is_not_stalled() -> None:
    assert find_stalls(dead(2, 30), series(np.zeros(60)), EMPTY, 1.0) == []
    assert find_stalls(dead(2, 30), EMPTY, EMPTY, 1.0) == []


def test_the_age_alone_tells_and_its_absence_is_filled_from_below() -> None:
    ages = np.zeros(60)
    ages[30:32] = [1e6, 2e6]
    (stall,) = find_stalls(dead(2, 30), EMPTY, series(ages), 1.0)
    assert stall.oldest_us == 2e6
    (stall,) = find_stalls(dead(3, 30), series(np.ones(60)), EMPTY, 1.0)
    assert stall.oldest_us == 3e6


def test_series_with_missing_intervals_are_lined_up_by_time() -> None:
    in_flight = Series(np.array([31.0004]), np.array([4.0]))
    (stall,) = find_stalls(dead(2, 30), in_flight, EMPTY, 1.0)
    assert (stall.start_s, stall.length_s) == (30, 1)


def test_a_slow_disk_has_empty_intervals_by_right() -> None:
    assert find_stalls(dead(1, 30, rate=5.0), series(np.ones(60)), EMPTY, 1.0) == []
    assert len(find_stalls(dead(3, 30, rate=5.0), series(np.ones(60)), EMPTY, 1.0)) == 1


def test_a_run_that_never_did_anything() -> None:
    (stall,) = find_stalls(dead(60, 0), series(np.ones(60)), EMPTY, 1.0)
    assert stall.length_s == 60


def test_intervals_that_a_stall_touches() -> None:
    at = series(np.ones(10))
    assert np.flatnonzero(during([Stall(start_s=4, length_s=2, oldest_us=2e6)], at)).tolist() == [3, 4, 5, 6]
    assert np.flatnonzero(during([Stall(start_s=0, length_s=1, oldest_us=1e6)], at)).tolist() == [0, 1]
    assert np.flatnonzero(during([Stall(start_s=9, length_s=1, oldest_us=1e6)], at)).tolist() == [8, 9]
    assert not during([], at).any()
