"""How far another clock is ahead: what exchanges prove, and no more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flatwater.runner.hosts.clock import Exchange, Offset, drift_between, estimate

WAYS = st.integers(0, 50_000_000)


def exchange(asked_ns: int, there_ns: int, back_ns: int, ahead_ns: int) -> Exchange:
    """An exchange whose question took `there_ns`, and its answer `back_ns`, with a clock that is `ahead_ns`."""
    return Exchange(asked_ns, asked_ns + there_ns + ahead_ns, asked_ns + there_ns + back_ns)


@given(ahead=st.integers(-(10**15), 10**15), ways=st.lists(st.tuples(WAYS, WAYS), min_size=1, max_size=20))
def test_the_bound_holds_however_long_each_way_took(ahead: int, ways: list[tuple[int, int]]) -> None:
    exchanges = [exchange(10**9 * number, there, back, ahead) for number, (there, back) in enumerate(ways)]
    found = estimate(exchanges)
    assert abs(found.offset_ns - ahead) <= found.bound_ns
    # No better than the fastest ways allow, and no worse.
    fastest = min(there for there, _ in ways) + min(back for _, back in ways)
    assert fastest <= 2 * found.bound_ns <= fastest + 2


def test_a_clock_that_is_set_between_two_exchanges_leaves_the_fastest_one() -> None:
    found = estimate([exchange(0, 1000, 1000, 0), exchange(10_000, 100, 100, 5_000_000)])
    assert (found.offset_ns, found.bound_ns) == (5_000_000, 100)


def test_a_drift_has_the_bounds_of_both_estimates() -> None:
    first, last = Offset(0, 1000, 200), Offset(10**9, 51_000, 300)
    drift = drift_between(first, last)
    assert drift is not None
    assert (drift.ppm, drift.bound_ppm) == (50.0, 0.5)
    assert drift_between(first, first) is None


def test_an_instant_of_ours_is_one_of_theirs() -> None:
    assert Offset(0, 5000, 10).theirs(7) == 5007
