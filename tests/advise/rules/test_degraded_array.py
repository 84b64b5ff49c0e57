from __future__ import annotations

from cases import case, database, device, experiment, finding, load, served

from flatwater.advise.rules.degraded_array import DegradedArray
from flatwater.analysis.bound.evidence import Layers
from flatwater.results.health import ArrayHealth, CellHealth

#: raid10-8 has eight members.
ARRAY = """
[workload]
kind = "fileio"
mode = "rndrd"
[storage]
kind = "raid"
device = "raid10-8"
[[storage.events]]
kind = "fail"
at_s = 30
member = 0
{more}
"""
LAYERS = Layers("modelled", "none", "none", "modelled", "raid10-8")
FULL = finding("device throughput", 0.9, "the device was busy for 99 % of the time")
RULE = DegradedArray()


def modelled(working: list[float], throughput: list[float], more: str = "", *bounds: object):
    return case(
        *(bounds or (FULL,)),
        device=device("raid", members_working=working),
        load=load(throughput=throughput),
        experiment=experiment(ARRAY.format(more=more)),
        layers=LAYERS,
    )


def test_a_member_that_fails_while_it_is_measured() -> None:
    told = RULE.advise(modelled([8, 8, 8, 7, 7], [100, 100, 100, 70, 70]))
    assert told is not None
    assert told.evidence[0] == "the array (raid10-8) lacked 1 of its 8 members in 40 % of the seconds"
    assert told.evidence[1] == "a member was missing in 40 % of the seconds, with 0.70x the throughput of the others"
    assert round(told.share, 9) == 0.12
    assert told.change.overrides == ("storage.events=[]",)


def test_a_member_that_was_missing_all_the_time() -> None:
    told = RULE.advise(modelled([7], [70]))
    assert told is not None
    assert told.share == 0.9, "that of what it bounds"
    assert "what it cost cannot be told: no part of the run had all members" in told.evidence


def test_a_load_that_is_served_without_the_member_lacks_its_protection_all_the_same() -> None:
    for run in (served(modelled([7], [70])), modelled([8, 7], [100, 100])):
        told = RULE.advise(run)
        assert told is not None
        assert told.share == 0.0


def test_events_that_are_not_of_failures_stay() -> None:
    more = '[[storage.events]]\nkind = "patrol"\nat_s = 10'
    told = RULE.advise(modelled([7], [70], more))
    assert told is not None
    assert told.change.overrides == ()


def health(missing: int, kind: str = "md") -> CellHealth:
    return CellHealth(arrays=[ArrayHealth(name="/dev/md0", kind=kind, level="raid1", missing=missing)])


def test_a_real_array_is_told_with_the_command_that_shows_it() -> None:
    told = RULE.advise(case(finding("fsync path", 0.7), device=device("file"), health=health(1)))
    assert told is not None
    assert told.change.lines == ("mdadm --detail /dev/md0",)
    assert told.evidence[0] == "/dev/md0 lacked 1 member when the run ended"
    assert told.share == 0.7
    idle = RULE.advise(case(finding("CPU", 0.7), device=device("file"), health=health(2, "dm")))
    assert idle is not None
    assert (idle.share, idle.change.lines) == (0.0, ()), "it is not what this run waits for"


def test_silent_of_an_array_with_all_its_members() -> None:
    assert RULE.advise(modelled([8], [100])) is None
    assert RULE.advise(case(FULL, device=device("file"), health=health(0))) is None
    assert RULE.advise(case(FULL, device=device("file"), database=database())) is None
    assert RULE.advise(case(FULL)) is None
