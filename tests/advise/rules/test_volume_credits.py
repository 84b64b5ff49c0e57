from __future__ import annotations

from cases import case, device, experiment, finding, served

from flatwater.advise.rules.volume_credits import VolumeCredits
from flatwater.analysis.bound.evidence import Layers

FULL = finding("device throughput", 0.5, "its credits were used up")
GP2 = """
[workload]
kind = "fileio"
mode = "rndrd"
[storage]
kind = "volume"
device = "ebs-gp2-100gib"
"""
LAYERS = Layers("modelled", "none", "none", "modelled", "a volume")
SPENT = device("volume", credits=[1000, 0], read_ops_per_s=300)


def test_a_volume_at_its_baseline() -> None:
    told = VolumeCredits().advise(case(FULL, device=SPENT, experiment=experiment(GP2), layers=LAYERS))
    assert told is not None
    assert told.share == 0.5
    assert told.change.overrides == ("storage.parameters.iops.baseline=3000",)


def test_silent_while_there_are_credits() -> None:
    for one in (device("volume", credits=[1000, 500]), device("volume"), device("ssd")):
        assert VolumeCredits().advise(case(FULL, device=one, layers=LAYERS)) is None
    assert VolumeCredits().advise(served(case(FULL, device=SPENT, layers=LAYERS))) is None
