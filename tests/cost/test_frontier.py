"""The frontier, by hand."""

from __future__ import annotations

from flatwater.cost.frontier import Point, frontier


def exact(cost: float, throughput: float) -> Point:
    return Point(cost, throughput, throughput, throughput)


def test_what_costs_more_and_does_less_is_off_it() -> None:
    assert frontier([exact(1, 1), exact(2, 2), exact(3, 1.5)]) == ["yes", "yes", "no"]


def test_as_much_for_more_is_off_it() -> None:
    assert frontier([exact(1, 1), exact(2, 1)]) == ["yes", "no"]


def test_less_for_as_much_is_off_it() -> None:
    assert frontier([exact(1, 1), exact(1, 2)]) == ["no", "yes"]


def test_twins_are_both_on_it() -> None:
    assert frontier([exact(1, 1), exact(1, 1)]) == ["yes", "yes"]


def test_an_interval_that_reaches_over_leaves_it_open() -> None:
    better, worse = Point(1, 10, 8, 12), Point(2, 9, 7, 11)
    assert frontier([better, worse]) == ["yes", "perhaps"]
    assert frontier([Point(1, 10, 9.6, 10.4), Point(2, 9, 8.5, 9.5)]) == ["yes", "no"]


def test_one_is_alone_on_it() -> None:
    assert frontier([exact(1, 1)]) == ["yes"]
    assert frontier([]) == []
