"""Each warning in both directions: what makes it, and what does not."""

from __future__ import annotations

from typing import Any

import pytest
from recordings import NOW_S, drive, evidence

from flatwater.health.arrays import Array
from flatwater.health.controller import Battery, Controller, Task
from flatwater.health.disks import Disk
from flatwater.health.evidence import Evidence, Warranty
from flatwater.health.history import Entry
from flatwater.health.life import Rate, life_by_rating
from flatwater.health.warnings import WARNINGS, Finding, find_warnings, worst

A_YEAR_H = 8766.0


def levels(rule: str, found: Evidence) -> list[str]:
    return [finding.level for finding in WARNINGS[rule](found)]


def of_drive(rule: str, *, before: tuple[Entry, ...] = (), **gauges: Any) -> list[str]:
    return levels(rule, evidence(drive(before=before, **gauges)))


def test_every_rule_has_its_name_and_is_tested_here() -> None:
    assert set(WARNINGS) == {"failing", "spare", "worn", "media", "hot", "together", "battery", "checks", "warranty"}


def test_a_drive_that_says_nothing_warns_of_nothing() -> None:
    assert find_warnings(evidence(drive())) == []


def test_failing() -> None:
    assert of_drive("failing", passed=True) == []
    assert of_drive("failing", passed=False) == ["critical"]
    assert of_drive("failing", passed=False, critical=("the media are read-only",)) == ["critical"]


@pytest.mark.parametrize(
    ("spare", "threshold", "expected"),
    [
        (100, 10, []),
        (21, 10, []),
        (20, 10, ["warning"]),
        (11, 10, ["warning"]),
        (10, 10, ["critical"]),
        (0, 10, ["critical"]),
        # Apple's drives call 99 % the threshold.
        (100, 99, []),
        (50, None, []),
        (50, 0, []),
    ],
)
def test_spare(spare: float, threshold: float | None, expected: list[str]) -> None:
    assert of_drive("spare", spare_pct=spare, spare_threshold_pct=threshold) == expected


@pytest.mark.parametrize(
    ("used", "expected"),
    [(0, []), (89, []), (90, ["warning"]), (99, ["warning"]), (100, ["critical"]), (255, ["critical"])],
)
def test_worn(used: float, expected: list[str]) -> None:
    assert of_drive("worn", used_pct=used) == expected


@pytest.mark.parametrize(("hours", "expected"), [(24 * 31, ["critical"]), (24 * 60, ["warning"]), (A_YEAR_H, [])])
def test_a_life_that_ends_soon(hours: float, expected: list[str]) -> None:
    # Half of it took so many hours: as many are left.
    assert of_drive("worn", used_pct=50.9, power_on_hours=hours) == expected


def _before(**figures: float) -> tuple[Entry, ...]:
    return (Entry(NOW_S - 86_400, "0123", "", **figures),)


def test_media() -> None:
    assert of_drive("media", media_errors=0, pending=0, reallocated=0) == []
    assert of_drive("media", media_errors=7) == ["warning"]
    assert of_drive("media", media_errors=7, before=_before(media_errors=7)) == ["warning"]
    assert of_drive("media", media_errors=8, before=_before(media_errors=7)) == ["critical"]
    assert of_drive("media", pending=3) == ["warning"]
    # Old replaced sectors are no news; new ones are.
    assert of_drive("media", reallocated=40) == []
    assert of_drive("media", reallocated=41, before=_before(reallocated=40)) == ["warning"]


@pytest.mark.parametrize(("degrees", "expected"), [(69, []), (70, ["warning"]), (79, ["warning"]), (80, ["critical"])])
def test_hot(degrees: float, expected: list[str]) -> None:
    limits = {"temperature_warning_c": 70, "temperature_critical_c": 80}
    assert of_drive("hot", temperature_c=degrees, **limits) == expected


def test_hot_without_limits_or_with_the_last_one_only() -> None:
    assert of_drive("hot", temperature_c=95) == []
    assert of_drive("hot", temperature_c=61, temperature_critical_c=60) == ["critical"]
    assert of_drive("hot", throttle_events=9, before=_before(throttle_events=9)) == []
    assert of_drive("hot", throttle_events=10, before=_before(throttle_events=9)) == ["warning"]
    assert of_drive("hot", throttle_events=10) == []


def _array(level: str = "raid1", *, redundant: bool | None = True, **more: Any) -> Array:
    return Array("/dev/md0", "md", level, (Disk("sda"), Disk("sdb")), redundant, **more)


def _pair(one: float, other: float, array: Array, **gauges: Any) -> list[str]:
    drives = (drive("/dev/sda", used_pct=one, **gauges), drive("/dev/sdb", used_pct=other, **gauges))
    return levels("together", evidence(*drives, arrays=(array,)))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [(70, 70, ["warning"]), (70, 73, ["warning"]), (70, 74, []), (49, 48, ["ok"]), (50, 48, ["warning"]), (90, 20, [])],
)
def test_together_by_the_wear(one: float, other: float, expected: list[str]) -> None:
    assert _pair(one, other, _array()) == expected


def test_together_by_the_day_of_the_end() -> None:
    # 60 and 62 % over the same hours: 5,844 and 5,373 hours are left, 8 % apart.
    assert _pair(60, 62, _array(), power_on_hours=A_YEAR_H) == ["warning"]
    # 90 and 95 %: 41 and 19 days are left, less than a month apart.
    assert _pair(90, 95, _array(), power_on_hours=A_YEAR_H) == ["warning"]
    # 20 and 22 %: 35,064 and 31,080, 11 % apart, though the shares are near.
    assert _pair(20, 22, _array(), power_on_hours=A_YEAR_H) == []


def test_together_needs_redundancy_and_two_members() -> None:
    assert _pair(70, 70, _array("raid0", redundant=False)) == []
    assert _pair(70, 70, _array("", redundant=None)) == ["warning"]
    alone = evidence(drive("/dev/sda", used_pct=70), arrays=(_array(),))
    assert levels("together", alone) == []
    disks = evidence(drive("/dev/sda"), drive("/dev/sdb"), arrays=(_array(),))
    assert levels("together", disks) == []


@pytest.mark.parametrize(
    ("battery", "expected"),
    [
        (None, []),
        (Battery("iBBU08", state="Optimal"), []),
        (Battery("iBBU08", state="Optimal", next_learn="2024/04/18 18:32:56"), ["ok"]),
        (Battery(present=False), ["warning"]),
        (Battery(state="Learning", learning=True), ["warning"]),
        (Battery(state="Degraded"), ["warning"]),
        (Battery(state="Failed", replace=True), ["critical"]),
    ],
)
def test_battery(battery: Battery | None, expected: list[str]) -> None:
    assert levels("battery", evidence(controllers=(Controller("controller 0", battery=battery),))) == expected


def test_checks_of_arrays() -> None:
    planned, not_planned = (("md", Task("check", True, "mdcheck_start.timer")),), (("md", Task("check", False)),)
    assert levels("checks", evidence(arrays=(_array(),), checks=planned)) == ["ok"]
    assert levels("checks", evidence(arrays=(_array(),), checks=not_planned)) == ["warning"]
    assert levels("checks", evidence(arrays=(_array(redundant=False),), checks=not_planned)) == []
    assert levels("checks", evidence(arrays=(_array(activity="check, 12 %"),), checks=planned)) == ["warning", "ok"]
    assert levels("checks", evidence(arrays=(_array(missing=1),), checks=planned)) == ["critical", "ok"]


def test_checks_of_controllers() -> None:
    def found(task: Task) -> list[str]:
        return levels("checks", evidence(controllers=(Controller("controller 0", tasks=(task,)),)))

    assert found(Task("patrol read", True, "04/20/2024, 03:00:00")) == ["ok"]
    assert found(Task("patrol read", False)) == ["warning"]
    assert found(Task("patrol read", None)) == []


def _under_warranty(written_tb: float, hours: float, rate_tb_a_year: float) -> list[str]:
    """A drive of 1 TB with one drive write a day over five years: 1,825 TB."""
    warranty = Warranty(1, 5)
    one = drive(host_written_bytes=written_tb * 1e12, power_on_hours=hours)
    rate = Rate(rate_tb_a_year * 1e12 / (365.25 * 86_400))
    life = life_by_rating(one.reading.gauges, rate, warranty.rated_bytes(1e12), NOW_S)
    return levels("warranty", evidence(type(one)(one.reading, (), None, life), warranty=warranty))


def test_warranty() -> None:
    assert _under_warranty(100, A_YEAR_H, 300) == ["ok"]
    # 825 TB are left: at 400 a year two years, and four of the warranty's.
    assert _under_warranty(1000, A_YEAR_H, 400) == ["warning"]
    assert _under_warranty(1000, 4 * A_YEAR_H, 400) == ["ok"]
    assert _under_warranty(1825, A_YEAR_H, 1) == ["critical"]
    assert levels("warranty", evidence(drive(host_written_bytes=1e18))) == []


def test_the_worst_comes_first_and_counts() -> None:
    found = find_warnings(evidence(drive(used_pct=95, passed=False, media_errors=1)))
    assert [finding.level for finding in found] == ["critical", "warning", "warning"]
    assert isinstance(found[0], Finding) and found[0].hint
    assert worst(["ok", "unknown"]) == "unknown"
    assert worst(["unknown", "warning"]) == "warning"
    assert worst(["warning", "critical"]) == "critical"
    assert worst([]) == "ok"
