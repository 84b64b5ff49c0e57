from __future__ import annotations

import pytest
from cases import case, database, device, experiment, finding

from flatwater.advise.rule import Case
from flatwater.advise.rules.slow_part import SlowPart
from flatwater.analysis.bound import Finding
from flatwater.analysis.bound.device import OwnDevice
from flatwater.analysis.bound.evidence import Layers
from flatwater.experiment.database.placed import Other
from flatwater.experiment.database.placement import Holding, Part
from flatwater.experiment.storage.modelled import RaidStorage

EXPERIMENT = """
[workload]
kind = "tpcc"
warehouses = 1
[database]
kind = "innodb-model"
{parts}
[storage]
kind = "ssd"
device = "virident-tachion-200-slc"
"""
LAYERS = Layers("modelled", "modelled", "none", "modelled", "card")
RULE = SlowPart()


def own(part: Part, busy: float, name: str = "disk-7200", queue: float = 0.0) -> OwnDevice:
    return OwnDevice(name, Holding((part,)), device("hdd", busy_pct=busy, queue_depth=queue))


def run(found: Finding, *parts: OwnDevice, busy: float = 5.0) -> Case:
    told = "\n".join(f'{one.holds.name}_device = "{one.name}"' for one in parts if one.holds.parts)
    return case(
        found,
        device=device("ssd", busy_pct=busy),
        database=database("mysql 5.7.44", generation="mysql-5.7"),
        experiment=experiment(EXPERIMENT.format(parts=told)),
        own_devices=parts,
        layers=LAYERS,
    )


def test_a_doublewrite_buffer_that_fills_its_own_disk() -> None:
    text = "the device of the doublewrite buffer (disk-7200) was busy for 95 % of the time"
    told = RULE.advise(run(finding("device throughput", 0.9, text), own("doublewrite", 95)))
    assert told is not None
    assert told.change.overrides == ('database.doublewrite_device="none"',)
    assert told.evidence == (text,)
    assert told.finding.startswith("Sessions wait for the device of the doublewrite buffer (disk-7200)")


@pytest.mark.parametrize("bound", ["log limit", "free pages", "dirty limit"])
def test_pages_that_wait_for_the_doublewrite_buffer(bound: str) -> None:
    told = RULE.advise(run(finding(bound, 0.8), own("doublewrite", 60)))
    assert told is not None
    assert told.share == 0.8
    assert told.evidence[0].endswith("was busy for 60 % of the time, that of the data for 5 %")


def test_a_table_on_a_disk() -> None:
    stock = OwnDevice("disk-7200", Holding(tables=("stock",)), device("hdd", busy_pct=100, queue_depth=16))
    told = RULE.advise(run(finding("device throughput", 1.0), stock))
    assert told is not None
    assert told.change.overrides == ('database.tables.stock="none"',)


@pytest.mark.parametrize("part", ["log", "binlog"])
def test_commits_that_wait_for_a_log_on_a_slower_device(part: Part) -> None:
    told = RULE.advise(run(finding("fsync path", 0.9), own(part, 50)))
    assert told is not None
    assert "a sync takes" in told.evidence[0]


@pytest.mark.parametrize("layers", [LAYERS, Layers("real", "real", "none", "modelled", "card")])
def test_a_storage_of_the_experiment_that_is_slow(layers: Layers) -> None:
    array = Other(RaidStorage(device="raid10-8"), ("doublewrite",), ("stock",))
    busy = device("raid", busy_pct=99, queue_depth=8)
    slow = case(
        finding("device throughput", 1.0),
        device=device("ssd", busy_pct=5),
        own_devices=(OwnDevice("array", Holding(("doublewrite",), ("stock",)), busy, array),),
        layers=layers,
    )
    told = RULE.advise(slow)
    assert told is not None
    assert told.change.overrides == (
        'database.placement.doublewrite="storage"',
        'database.placement.tables.stock="storage"',
    )
    assert told.finding.startswith("Sessions wait for the storage of the doublewrite, table stock (array)")


def test_silent_where_the_data_are_no_faster_or_nobody_waits_for_the_part() -> None:
    quick = "virident-tachion-400-slc"
    for silent in (
        run(finding("CPU"), own("doublewrite", 95)),
        run(finding("log limit"), own("doublewrite", 20)),
        run(finding("log limit"), own("doublewrite", 60), busy=50),
        run(finding("device throughput"), own("doublewrite", 95), busy=96),
        run(finding("fsync path"), own("log", 50, quick)),
        run(finding("fsync path")),
        run(finding("log limit")),
    ):
        assert RULE.advise(silent) is None
