from __future__ import annotations

import pytest
from cases import case, device, load, served

from flatwater.advise.rules.patrol_read import PatrolRead

NONE = float("nan")


@pytest.mark.parametrize("work", ["patrol", "check", "rebuild"])
def test_work_of_the_array_beside_the_load(work: str) -> None:
    array = device("raid", **{f"{work}_pct": [10, NONE, NONE, NONE]})
    told = PatrolRead().advise(case(device=array, load=load(throughput=[600, 1000, 1000, 1000])))
    assert told is not None
    assert told.share == pytest.approx(0.25 * 0.4)
    assert ("array is whole" in told.change.text) is (work == "rebuild")


def test_the_whole_run_has_nothing_to_be_compared_with() -> None:
    told = PatrolRead().advise(case(device=device("raid", patrol_pct=[1, 2]), load=load(throughput=900)))
    assert told is not None
    assert (told.share, told.evidence) == (1.0, ("a patrol read was under way in 100 % of the seconds",))


def test_silent_where_it_costs_nothing_or_nothing_is_done() -> None:
    costs_nothing = device("raid", patrol_pct=[10, NONE])
    assert PatrolRead().advise(case(device=costs_nothing, load=load(throughput=[990, 1000]))) is None
    assert PatrolRead().advise(case(device=device("raid"), load=load(throughput=900))) is None
    busy = case(device=device("raid", patrol_pct=[1, 2]), load=load(throughput=900))
    assert PatrolRead().advise(served(busy)) is None
