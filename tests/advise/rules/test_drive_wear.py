from __future__ import annotations

from cases import case, load

from flatwater.advise.rules.drive_wear import DriveWear
from flatwater.results.health import CellHealth, DriveHealth, LifeSpan

SHORT = LifeSpan(years=1.2, low=1.0, high=1.5, basis="1.2 years (1.0 to 1.5)")


def health(**lives: LifeSpan) -> CellHealth:
    return CellHealth(drives=[DriveHealth(device="/dev/nvme0n1", used_pct=40, **lives)])


def test_a_drive_that_its_own_past_wears_out() -> None:
    told = DriveWear().advise(case(health=health(life=SHORT)))
    assert told is not None
    assert told.evidence == (
        "/dev/nvme0n1, at its mean rate so far: 1.2 years (1.0 to 1.5); 40 % of its rated life is used",
    )


def test_a_load_of_a_given_rate_that_wears_a_drive_out() -> None:
    for lives in ({"workload_life": SHORT}, {"rated_life": SHORT, "workload_life": LifeSpan(years=40)}):
        told = DriveWear().advise(case(health=health(**lives), load=load(rate_per_s=500)))
        assert told is not None
        assert "always written as by this load" in told.evidence[0]


def test_silent_of_lives_that_are_long_or_may_be_and_of_what_a_closed_loop_writes() -> None:
    may_be_long = LifeSpan(years=1.2, low=0.5, high=3.0)
    for told in (health(life=LifeSpan(years=3)), health(life=may_be_long), health(life=LifeSpan()), health(), None):
        assert DriveWear().advise(case(health=told, load=load(rate_per_s=500))) is None
    assert DriveWear().advise(case(health=health(workload_life=SHORT))) is None
