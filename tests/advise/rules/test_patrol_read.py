from __future__ import annotations

import pytest
from cases import case, device, finding, load, served

from flatwater.advise.rules.patrol_read import PatrolRead
from flatwater.results.health import ArrayHealth, CellHealth, ControllerHealth

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


PATROL = ControllerHealth(name="controller 0", running_before=["patrol read"], running=["patrol read"])
SCRUB = ArrayHealth(name="pool tank", kind="zfs", activity_before="scrub")
FULL = finding("device throughput")


@pytest.mark.parametrize(
    ("health", "confidence", "words"),
    [
        (CellHealth(controllers=[PATROL]), "medium", "controller 0 was busy with a patrol read when the run began and"),
        (CellHealth(arrays=[SCRUB]), "low", "pool tank was busy with itself (scrub) when the run began"),
    ],
)
def test_what_controllers_and_arrays_say_before_and_after(health: CellHealth, confidence: str, words: str) -> None:
    told = PatrolRead().advise(case(FULL, device=device(), health=health))
    assert told is not None
    assert told.evidence[0].startswith(words)
    assert told.confidence == confidence


def test_silent_where_nothing_waits_for_the_storage_or_the_intervals_tell_that_it_cost_nothing() -> None:
    health = CellHealth(arrays=[ArrayHealth(name="/dev/md0", activity_before="check, 1 %", activity="check, 9 %")])
    assert PatrolRead().advise(case(finding("CPU"), device=device(), health=health)) is None
    sampled = device(check_pct=[10, NONE])
    assert PatrolRead().advise(case(FULL, device=sampled, load=load(throughput=[990, 1000]), health=health)) is None
