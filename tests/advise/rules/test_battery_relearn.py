from __future__ import annotations

from cases import case, device, experiment, finding, load

from flatwater.advise.rules.battery_relearn import BatteryRelearn
from flatwater.analysis.bound.evidence import Layers
from flatwater.results.health import CellHealth, ControllerHealth

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
RELEARNS = experiment(ARRAY.format(more='events = [{ kind = "relearn", at_s = 1, duration_s = 20 }]'))


def test_a_cache_that_went_off_and_the_run_slowed_down() -> None:
    array = device("raid", write_back=[1, 1, 0, 1])
    told = BatteryRelearn().advise(
        case(device=array, load=load(throughput=[1000, 1000, 200, 1000]), experiment=RELEARNS, layers=LAYERS)
    )
    assert told is not None
    assert told.share == 0.25 * 0.8
    assert told.change.overrides == ("storage.events=[]",)
    assert "25 % of the seconds, with 0.20x" in told.evidence[0]


def test_silent_where_it_is_always_off_or_on_or_costs_nothing() -> None:
    for back, speed in (([0, 0], [500, 500]), ([1, 1], [1000, 200]), ([1, 0], [1000, 990])):
        told = case(device=device("raid", write_back=back), load=load(throughput=speed), layers=LAYERS)
        assert BatteryRelearn().advise(told) is None


def test_a_real_battery_that_relearned_beside_commits() -> None:
    learning = CellHealth(
        controllers=[ControllerHealth(name="controller 0", battery_before="learning", battery="well")]
    )
    written = device("file", write_ops_per_s=800, read_ops_per_s=100)
    told = BatteryRelearn().advise(case(finding("fsync path", 0.7), device=written, health=learning))
    assert told is not None
    assert told.evidence[0] == "controller 0 had a battery that relearned: writes may have waited for the disks"
    assert (told.confidence, told.share) == ("medium", 0.7)
    assert BatteryRelearn().advise(case(finding("CPU"), device=written, health=learning)) is None
    missing = CellHealth(controllers=[ControllerHealth(name="controller 0", battery="missing")])
    assert BatteryRelearn().advise(case(finding("fsync path", 0.7), device=written, health=missing)) is None
    only_read = device("file", write_ops_per_s=5, read_ops_per_s=900)
    assert BatteryRelearn().advise(case(finding("fsync path", 0.7), device=only_read, health=learning)) is None
