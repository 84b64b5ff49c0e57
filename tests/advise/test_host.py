"""What of the host an advice may speak of."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import case, database, experiment, on_storage

from flatwater.advise.host import machine_facts, medium, scheduler, storage_facts
from flatwater.analysis.bound.evidence import Layers

FILES = """
[workload]
kind = "fileio"
mode = "rndrd"
[storage]
path = "{path}"
"""
MODELLED = """
[workload]
kind = "fileio"
mode = "rndrd"
[storage]
kind = "{kind}"
device = "{device}"
"""


def test_nothing_of_a_server_on_another_machine() -> None:
    """Only a server whose processes were sampled ran on the machine that was recorded."""
    assert machine_facts(case(database=database(), machine=on_storage())) == {}
    assert machine_facts(case(database=database(cpu_user_pct=1), machine=on_storage())) != {}


def test_nothing_in_virtual_time_and_no_storage_of_a_served_model() -> None:
    virtual = Layers("modelled", "modelled", "none", "modelled", "a card")
    assert machine_facts(case(machine=on_storage(), layers=virtual)) == {}
    emulated = Layers("real", "real", "none", "modelled", "a card")
    assert storage_facts(case(database=database(cpu_user_pct=1), machine=on_storage(), layers=emulated)) == {}


def test_nothing_of_another_cells_place(tmp_path: Path) -> None:
    here = experiment(FILES.format(path=tmp_path / "xfs"))
    there = on_storage(path=str(tmp_path / "ext4"))
    assert storage_facts(case(experiment=here, machine=there)) == {}
    below = on_storage(path=str(tmp_path / "xfs" / "flatwater"))
    assert storage_facts(case(experiment=here, machine=below))["file_system"] == "ext4"


@pytest.mark.parametrize(
    ("kind", "device", "expected"),
    [
        ("ssd", "intel-910-200", "flash"),
        ("hdd", "disk-15k", "disks"),
        ("raid", "raid10-8", "disks"),
        ("volume", "ebs-gp2-100gib", None),
    ],
)
def test_the_medium_of_a_model(kind: str, device: str, expected: str | None) -> None:
    layers = Layers("modelled", "none", "none", "modelled", device)
    told = case(experiment=experiment(MODELLED.format(kind=kind, device=device)), layers=layers)
    assert medium(told) == expected


def test_a_rotational_disk_of_a_virtual_machine_may_be_anything() -> None:
    assert medium(case(machine=on_storage())) == "flash"
    assert medium(case(machine=on_storage(rotational=True))) == "disks"
    assert medium(case(machine=on_storage({"hypervisor": True}, rotational=True))) is None
    assert medium(case(machine=on_storage({"hypervisor": True}))) == "flash"
    assert medium(case()) is None


def test_the_scheduler_in_use() -> None:
    assert scheduler(case(machine=on_storage(scheduler="none [mq-deadline] bfq"))) == "mq-deadline"
    assert scheduler(case(machine=on_storage(scheduler="none"))) == ""
