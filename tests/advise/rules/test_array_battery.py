from __future__ import annotations

import pytest
from cases import case, database, device, experiment, finding

from flatwater.advise.rules.array_battery import ArrayBattery
from flatwater.analysis.bound.evidence import Layers
from flatwater.results.health import BatteryCondition, CellHealth, ControllerHealth

ARRAY = """
[workload]
kind = "fileio"
mode = "rndwr"
[storage]
kind = "raid"
device = "raid10-8"
{more}
"""
LAYERS = Layers("modelled", "none", "none", "modelled", "raid10-8")
FULL = finding("device throughput", 0.9, "the device was busy for 99 % of the time")


def test_a_controller_that_never_writes_back() -> None:
    array = device("raid", write_back=0, write_ops_per_s=800, read_ops_per_s=100)
    told = ArrayBattery().advise(case(FULL, device=array, experiment=experiment(ARRAY.format(more="")), layers=LAYERS))
    assert told is not None
    assert told.change.overrides == ("storage.parameters.controller.battery=true",)
    assert told.share == 0.9


def test_silent_of_one_that_writes_back_or_is_read() -> None:
    for quantities in (
        {"write_back": 1, "write_ops_per_s": 800},
        {"write_back": 0, "write_ops_per_s": 10, "read_ops_per_s": 900},
        {"write_ops_per_s": 800},
    ):
        array = device("raid", **quantities)
        assert ArrayBattery().advise(case(FULL, device=array, layers=LAYERS)) is None
    off = device("raid", write_back=0, write_ops_per_s=800)
    assert ArrayBattery().advise(case(finding("CPU"), device=off, layers=LAYERS)) is None


def behind(before: BatteryCondition | None, after: BatteryCondition | None, *policies: str) -> CellHealth:
    return CellHealth(
        controllers=[
            ControllerHealth(name="controller 0", battery_before=before, battery=after, policies=list(policies))
        ]
    )


WRITTEN = device("file", write_ops_per_s=800, read_ops_per_s=100)
COMMITS = finding("fsync path", 0.7)


@pytest.mark.parametrize(("before", "after"), [("missing", "missing"), ("well", "replace"), ("missing", None)])
def test_a_real_controller_without_a_working_battery(
    before: BatteryCondition | None, after: BatteryCondition | None
) -> None:
    told = ArrayBattery().advise(case(COMMITS, device=WRITTEN, health=behind(before, after, "write-back")))
    assert told is not None
    assert "battery: writes may have waited for the disks" in told.evidence[0].replace(" that must be replaced", "")
    assert (told.confidence, told.share, told.change.overrides) == ("medium", 0.7, ())


def test_silent_of_a_battery_that_works_of_volumes_forced_and_of_runs_that_wait_for_something_else() -> None:
    rule = ArrayBattery()
    for health in (behind("well", "well"), behind(None, None), behind("missing", "missing", "always write-back"), None):
        assert rule.advise(case(COMMITS, device=WRITTEN, health=health)) is None
    missing = behind("missing", "missing")
    assert rule.advise(case(finding("CPU"), device=WRITTEN, health=missing)) is None
    assert rule.advise(case(device=WRITTEN, health=missing)) is None
    only_read = device("file", write_ops_per_s=5, read_ops_per_s=900)
    assert rule.advise(case(COMMITS, device=only_read, health=missing)) is None
    assert rule.advise(case(COMMITS, database=database(), health=missing)) is None, "nobody counted the writes"
