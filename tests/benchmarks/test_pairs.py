from __future__ import annotations

import pytest
from benchmarks.pairs import Target, alternating, confidence, ratio


def test_the_order_turns_round_every_round() -> None:
    order = "".join(f"{number}{name}" for number, name in alternating("AB", 3))
    assert order == "0A0B1B1A2A2B"


def test_rounds_are_divided_by_their_own_partner() -> None:
    # A storage that gets ten times slower half way changes nothing.
    found = ratio([110, 108, 11, 10.5], [100, 100, 10, 10])
    assert found.median == pytest.approx(1.09)
    assert (found.low, found.high) == pytest.approx((1.05, 1.1))


@pytest.mark.parametrize(("count", "percent"), [(1, 0), (5, 94), (6, 97), (9, 96), (12, 96)])
def test_confidence_is_that_of_a_sign_test(count: int, percent: int) -> None:
    assert round(100 * confidence(count)) == percent


def test_nine_rounds_may_drop_an_outlier_on_each_side() -> None:
    found = ratio([0.1, 1, 2, 3, 4, 5, 6, 7, 90], [1] * 9)
    assert (found.low, found.median, found.high) == (1, 4, 7)


@pytest.mark.parametrize(
    ("target", "values", "verdict"),
    [
        (Target("at least", 1.0), [1.0, 1.1, 1.2], "met"),
        (Target("at least", 1.0), [0.9, 0.98, 1.01], "undecided"),
        (Target("at least", 1.0), [0.9, 0.91, 0.99], "**not met**"),
        (Target("at most", 0.7), [0.6, 0.7, 0.8], "met"),
        (Target("at most", 0.7), [0.69, 0.72, 0.8], "undecided"),
        (Target("at most", 0.7), [0.71, 0.72, 0.8], "**not met**"),
    ],
)
def test_verdicts_say_when_the_rounds_disagree(target: Target, values: list[float], verdict: str) -> None:
    assert ratio(values, [1.0] * len(values)).verdict(target) == verdict
