"""What is left of a sweep is estimated from what ran, in seconds of this world, and never grows."""

from __future__ import annotations

import pytest

from flatwater.runner.executors.remaining import Countdown, Remaining


def make(lengths_s: list[float], real: set[int] = frozenset()) -> Remaining:  # type: ignore[assignment]
    made = Remaining(lambda index: lengths_s[index], lambda index: index in real)
    made.expect(range(len(lengths_s)))
    return made


def test_nothing_is_told_of_modelled_cells_before_one_ran() -> None:
    assert make([600, 600]).left_s(2) is None


def test_real_cells_take_as_long_as_they_are_and_what_comes_on_top() -> None:
    it = make([60, 60, 60], {0, 1, 2})
    assert it.left_s(1) == 180
    it.finish(0, 90)
    assert it.left_s(1) == pytest.approx(180)
    it.advance(1, 0.5, 45)
    assert it.left_s(1) == pytest.approx(135)


def test_virtual_time_is_calibrated_by_length_not_by_count() -> None:
    it = make([600, 1200, 3600])
    it.finish(0, 3.0)
    assert it.left_s(1) == pytest.approx(24.0)
    # Two at once; but the longest of them is the last to end.
    assert it.left_s(2) == pytest.approx(12.0)
    it.advance(2, 0.25, 4.5)
    it.advance(1, 0.5, 3.0)
    assert it.shares == (0.25, 0.5)
    assert it.left_s(2) == pytest.approx(13.5)
    it.finish(1, 6.0)
    it.finish(2, 18.0)
    assert (it.left_s(1), it.shares) == (0.0, ())


def test_a_cell_under_way_is_enough_to_tell() -> None:
    it = make([600, 600])
    it.advance(0, 0.0, 5.0)
    assert it.left_s(1) is None
    it.advance(0, 0.25, 10.0)
    assert it.left_s(1) == pytest.approx(70.0)


def test_one_that_failed_at_once_does_not_make_the_others_faster() -> None:
    it = make([600, 600, 600])
    it.finish(0, 6.0)
    it.finish(1, None)
    assert it.left_s(1) == pytest.approx(6.0)


def test_real_and_modelled_cells_are_added() -> None:
    it = make([600, 600, 60], {2})
    it.finish(0, 6.0)
    assert it.left_s(4) == pytest.approx(66.0)


def test_what_is_told_never_grows() -> None:
    countdown = Countdown()
    assert [countdown.to_show(left_s) for left_s in (None, 30.0, 50.0, 20.0, 21.0, None, 3.0)] == [
        *(None, 30.0, 30.0, 20.0, 20.0, None, 3.0)
    ]
