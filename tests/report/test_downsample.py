from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from flatwater.report.downsample import KEPT_OF_BUCKET, kept, lines

ANY = st.floats(width=32, allow_nan=True, allow_infinity=True)
VALUES = arrays.arrays(np.float64, st.integers(1, 400), elements=ANY)


@given(VALUES, st.integers(1, 40))
def test_extremes_are_kept_exactly(value: np.ndarray, buckets: int) -> None:
    [line] = lines(np.arange(1.0, len(value) + 1), [value], buckets)
    finite = value[np.isfinite(value)]
    if not len(finite):
        assert np.isnan([line.low, line.high]).all()
        return
    assert (line.low, line.high) == (finite.min(), finite.max())
    assert np.nanmin(line.value) == finite.min()
    assert np.nanmax(line.value) == finite.max()


@given(VALUES, st.integers(1, 40))
def test_every_bucket_keeps_its_first_lowest_highest_and_last(value: np.ndarray, buckets: int) -> None:
    places = kept(value, buckets)
    assert (np.diff(places) > 0).all()
    assert places[0] == 0
    assert places[-1] == len(value) - 1
    if len(value) > KEPT_OF_BUCKET * buckets:
        assert len(places) <= KEPT_OF_BUCKET * buckets
        size = -(-len(value) // buckets)
        for start in range(0, len(value), size):
            bucket = value[start : start + size]
            finite = bucket[np.isfinite(bucket)]
            drawn = value[places[(places >= start) & (places < start + size)]]
            if len(finite):
                assert {finite.min(), finite.max()} <= set(drawn.tolist())
    else:
        assert len(places) == len(value)


def test_one_second_in_a_million_survives() -> None:
    value = np.full(1_000_000, 500.0)
    value[654_321] = 0.0
    [line] = lines(np.arange(1.0, 1_000_001), [value], 2000)
    assert line.time_s[line.value == 0.0].tolist() == [654_322.0]
    assert len(line.value) <= 8000


def test_a_silence_breaks_the_line() -> None:
    time_s = np.concatenate([np.arange(1.0, 11), np.arange(101.0, 111)])
    [line] = lines(time_s, [np.ones(20)], 100)
    assert line.time_s[np.isnan(line.value)].tolist() == [11.0]
    assert (np.diff(line.time_s) > 0).all()


def test_a_silence_breaks_a_thinned_line_too() -> None:
    time_s = np.concatenate([np.arange(0.0, 5000), np.arange(9000.0, 14000)])
    [line] = lines(time_s, [np.sin(time_s)], 50)
    assert np.isnan(line.value).sum() == 1
    [place] = np.flatnonzero(np.isnan(line.value))
    assert (line.time_s[place - 1], line.time_s[place + 1]) == (4999.0, 9000.0)


def test_stacked_series_share_their_times() -> None:
    rng = np.random.default_rng(1)
    time_s = np.arange(1.0, 10_001)
    first, second = lines(time_s, [rng.random(10_000), rng.random(10_000)], 100)
    assert first.time_s is second.time_s
    assert len(first.time_s) == len(first.value) == len(second.value) <= 800


def test_nothing() -> None:
    [line] = lines(np.empty(0), [np.empty(0)], 10)
    assert len(line.value) == 0
