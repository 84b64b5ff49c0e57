"""Kendall's tau, against counts by hand."""

from __future__ import annotations

import pytest

from flatwater.analysis.rank import chance_of_tau, kendall_tau


@pytest.mark.parametrize(
    ("pairs", "tau"),
    [
        ([(1, 10), (2, 20), (3, 30)], 1.0),
        ([(1, 30), (2, 20), (3, 10)], -1.0),
        ([(1, 10), (2, 30), (3, 20)], 1 / 3),  # one pair of three the wrong way round
        ([(1, 10), (1, 20), (2, 30)], 1.0),  # equal published figures say nothing of their order
        ([(1, 10), (2, 10), (3, 20)], 2 / 3),  # ours equal where theirs differ: neither right nor wrong
        ([(1, 10)], None),
        ([(2, 10), (2, 20)], None),
        ([], None),
    ],
)
def test_tau(pairs: list[tuple[float, float]], tau: float | None) -> None:
    assert kendall_tau([pairs]) == (None if tau is None else pytest.approx(tau))


def test_only_within_a_group() -> None:
    assert kendall_tau([[(1, 10), (2, 20)], [(100, 2), (200, 1)]]) == 0
    assert kendall_tau([]) is None


@pytest.mark.parametrize(
    ("pairs", "chance"),
    [
        ([(1, 10), (2, 20)], 1 / 2),
        ([(1, 10), (2, 20), (3, 30)], 1 / 6),
        ([(1, 10), (2, 30), (3, 20)], 3 / 6),  # of six orders, one has tau 1 and two have 1/3
        ([(1, 30), (2, 20), (3, 10)], 1.0),
        ([(1, 10), (2, 10), (3, 20)], 2 / 6),  # two of ours are equal: each order appears twice
        ([(1, 10), (1, 20)], None),
        ([(number, number) for number in range(8)], 1 / 40320),
        ([(number, number) for number in range(9)], None),
    ],
)
def test_how_often_chance_does_as_well(pairs: list[tuple[float, float]], chance: float | None) -> None:
    assert chance_of_tau(pairs) == (None if chance is None else pytest.approx(chance))
