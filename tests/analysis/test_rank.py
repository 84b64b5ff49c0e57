"""Kendall's tau, against counts by hand."""

from __future__ import annotations

import pytest

from flatwater.analysis.rank import kendall_tau


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
