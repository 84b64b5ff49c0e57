from __future__ import annotations

from cases import case, device, experiment, finding

from flatwater.advise.rules.array_battery import ArrayBattery
from flatwater.analysis.bound.evidence import Layers

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
