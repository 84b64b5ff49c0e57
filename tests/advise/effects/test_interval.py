from __future__ import annotations

import math
import random

import pytest

from flatwater.advise.effects.interval import FINEST, LONGER, Pair, effect_interval, pair_of


def pairs(*logs: float) -> list[Pair]:
    """Pairs whose effect stays as it is."""
    return [Pair(one, one) for one in logs]


def test_pairs_that_agree_are_told_no_finer_than_a_hundredth() -> None:
    told = effect_interval(pairs(math.log(2), math.log(2), math.log(2)))
    assert told.ratio == pytest.approx(2)
    assert told.low == pytest.approx(2 * math.exp(-FINEST))
    assert told.high == pytest.approx(2 * math.exp(FINEST))


def test_three_pairs_by_hand() -> None:
    """Deviation 0.1 of three logarithms, times the root of 4/3, times Student's 4.303 for two degrees of freedom."""
    told = effect_interval(pairs(0.1, 0.2, 0.3))
    assert math.log(told.ratio) == pytest.approx(0.2)
    assert math.log(told.high) == pytest.approx(0.2 + 4.303 * 0.1 * math.sqrt(4 / 3), rel=1e-3)
    assert math.log(told.low) == pytest.approx(0.2 - 4.303 * 0.1 * math.sqrt(4 / 3), rel=1e-3)


def test_an_effect_that_grows_is_told_further_in_that_direction_only() -> None:
    still, grows = effect_interval(pairs(0.2, 0.2, 0.2)), effect_interval([Pair(0.2, 0.3)] * 3)
    assert grows.low == still.low
    assert math.log(grows.high / still.high) == pytest.approx(0.1)
    falls = effect_interval([Pair(0.2, 0.1)] * 3)
    assert falls.high == still.high
    assert math.log(falls.low / still.low) == pytest.approx(-0.1)


def test_a_longer_run_goes_on_as_the_second_half() -> None:
    """A volume whose credits end in the middle: 100 and 10 without the change, 100 and 100 with it."""
    told = pair_of((100, 10), (100, 100))
    assert math.exp(told.whole) == pytest.approx(200 / 110)
    assert LONGER == 3
    assert math.exp(told.longer) == pytest.approx(600 / 150)
    level = pair_of((50, 50), (75, 75))
    assert level.longer == pytest.approx(level.whole)


def test_a_shortened_run_is_believed_less_in_both_directions() -> None:
    whole, part = effect_interval(pairs(0.2, 0.2, 0.2)), effect_interval(pairs(0.2, 0.2, 0.2), off=0.05)
    assert math.log(part.high / whole.high) == pytest.approx(0.05)
    assert math.log(part.low / whole.low) == pytest.approx(-0.05)


@pytest.mark.parametrize("own", [0.1, -0.1])
def test_a_run_off_its_other_seeds_moves_the_end_that_it_concerns(own: float) -> None:
    """The run was slower (0.1) than those of other seeds: over it, the change gains more. Else it gains less."""
    plain, found = effect_interval(pairs(0.2, 0.2, 0.2)), effect_interval(pairs(0.2, 0.2, 0.2), own=own)
    assert found.ratio == plain.ratio
    assert math.log(found.high / plain.high) == pytest.approx(max(own, 0))
    assert math.log(found.low / plain.low) == pytest.approx(min(own, 0))


@pytest.mark.parametrize("count", [3, 4, 5])
def test_nineteen_of_twenty_later_pairs_lie_within(count: int) -> None:
    draws, held = random.Random(count), 0
    for _ in range(2000):
        *seen, later = (draws.gauss(0.3, 0.05) for _ in range(count + 1))
        told = effect_interval(pairs(*seen))
        held += told.low <= math.exp(later) <= told.high
    assert 0.93 <= held / 2000 <= 0.97


def test_a_run_in_real_time_has_noise_twice() -> None:
    """The run that was advised on, and the one to come: 1.96 x sqrt(2) x 0.03, and nothing from three equal seeds."""
    found = effect_interval(pairs(0.2, 0.2, 0.2), noise=0.03)
    assert math.log(found.high / found.ratio) == pytest.approx(1.96 * math.sqrt(2) * 0.03)
    assert math.log(found.ratio / found.low) == pytest.approx(1.96 * math.sqrt(2) * 0.03)
