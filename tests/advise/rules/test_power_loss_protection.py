from __future__ import annotations

from dataclasses import replace

import pytest
from cases import case, database, device, experiment, finding, on_storage, served

from flatwater.advise.rule import Case
from flatwater.advise.rules.power_loss_protection import PowerLossProtection
from flatwater.analysis.bound.evidence import Layers

SYNC = finding("fsync path", 0.5, "a sync took 2 ms")
MODELLED = """
[workload]
kind = "tpcc"
warehouses = 1
[database]
kind = "innodb-model"
{more}
[storage]
kind = "ssd"
device = "{device}"
"""


PLACED = """
[workload]
kind = "tpcc"
warehouses = 1
[database]
kind = "server"
[database.placement]
{part} = "apart"
[database.storages.apart]
path = "/srv/apart"
[storage]
path = "/data"
"""


def on_drive(flush_us: float, read_us: float, **storage: object) -> Case:
    """A real drive; syncs are as long as its flushes."""
    server = database(cpu_user_pct=50, log_fsyncs_per_s=100, settings={"innodb_flush_log_at_trx_commit": "1"})
    drive = device(flush_await_us=flush_us, read_await_us=read_us)
    return case(SYNC, database=server, device=drive, machine=on_storage(**storage))


def on_model(name: str, more: str = "") -> Case:
    """A modelled card."""
    text = MODELLED.format(device=name, more=more)
    layers = Layers("modelled", "modelled", "none", "modelled", name)
    return case(SYNC, database=database("mysql 5.7"), device=device("ssd"), experiment=experiment(text), layers=layers)


def test_a_drive_that_syncs_far_slower_than_it_reads() -> None:
    told = PowerLossProtection().advise(on_drive(2500, 110))
    assert told is not None
    assert (told.change.kind, told.confidence, told.change.overrides) == ("hardware", "medium", ())
    assert "2.5 ms" in told.evidence[0]


def test_a_modelled_card_without_a_safe_buffer() -> None:
    told = PowerLossProtection().advise(on_model("intel-x25-m"))
    assert told is not None
    assert told.confidence == "high"
    assert told.change.overrides == ('database.log_device="raid10-8"',)


@pytest.mark.parametrize(
    ("flush_us", "read_us", "storage"),
    [
        (40, 90, {}),
        (2500, 2000, {}),
        (2500, 110, {"write_cache": "write through"}),
        (9000, 110, {"rotational": True}),
    ],
    ids=["fast syncs", "slow altogether", "a safe cache", "disks"],
)
def test_silent_of_other_drives(flush_us: float, read_us: float, storage: dict[str, object]) -> None:
    assert PowerLossProtection().advise(on_drive(flush_us, read_us, **storage)) is None


def test_silent_of_protected_cards_of_a_log_elsewhere_and_of_a_served_load() -> None:
    assert PowerLossProtection().advise(on_model("intel-910-200")) is None
    assert PowerLossProtection().advise(on_model("intel-x25-m", 'log_device = "raid10-8"')) is None
    assert PowerLossProtection().advise(served(on_drive(2500, 110))) is None


@pytest.mark.parametrize(("part", "advised"), [("redo_log", False), ("doublewrite", True)])
def test_commits_do_not_wait_for_the_drive_of_the_data_when_the_log_is_placed_elsewhere(
    part: str, advised: bool
) -> None:
    own = replace(on_drive(2500, 110).evidence, experiment=experiment(PLACED.format(part=part)))
    told = PowerLossProtection().advise(replace(on_drive(2500, 110), evidence=own))
    assert (told is not None) == advised
