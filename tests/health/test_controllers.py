"""Batteries and patrol reads, from recorded outputs of storcli and MegaCli; and what the machine itself plans."""

from __future__ import annotations

import json
from typing import Any

import pytest
from recordings import Lab, evidence

from flatwater.health.controller import Battery, Task
from flatwater.health.megacli import read_batteries, read_megacli, read_patrol
from flatwater.health.schedules import find_check
from flatwater.health.storcli import read_output, read_storcli
from flatwater.health.untrusted import Untrusted
from flatwater.health.warnings.checks import warn as warn_of_checks

#: netdata, collector/storcli/testdata/megaraid-controllers-info.json, without what is not read.
SERVERAID: dict[str, Any] = {
    "Basics": {"Controller": 0, "Model": "ServeRAID M5015 SAS/SATA Controller"},
    "HwCfg": {"BBU": "Present"},
    "Scheduled Tasks": {
        "Consistency Check Reoccurrence": "168 hrs",
        "Next Consistency check launch": "04/20/2024, 03:00:00",
        "Patrol Read Reoccurrence": "168 hrs",
        "Next Patrol Read launch": "04/20/2024, 03:00:00",
        "Battery learn Reoccurrence": "672 hrs",
        "Next Battery Learn": "04/18/2024, 18:32:56",
    },
    "BBU_Info": [{"Model": "iBBU08", "State": "Optimal", "Temp": "34C", "Next Learn": "2024/04/18  18:32:56"}],
}
#: netdata, collector/megacli/testdata/mega-bbu-info-recent.txt, the lines that are read.
MEGACLI = """BBU status for Adapter: 0

BatteryType: iBBU08
Battery State: Optimal
  Learn Cycle Requested                      : No
  Learn Cycle Active                      : No
  Battery Pack Missing                    : No
  Battery Replacement required            : No
  Pack is about to fail & should be replaced : No
  Next Learn time: Thu Dec 21 18:32:56 2023

Exit Code: 0x00
"""


def controllers(**changes: Any) -> Untrusted:
    data = {name: value for name, value in (SERVERAID | changes).items() if value is not None}
    return Untrusted({"Controllers": [{"Command Status": {"Status": "Success"}, "Response Data": data}]})


def test_a_controller_that_is_well() -> None:
    (found,) = read_output(controllers())
    assert (found.name, found.model) == ("controller 0", "ServeRAID M5015 SAS/SATA Controller")
    assert found.battery == Battery("iBBU08", True, "Optimal", False, False, "2024/04/18 18:32:56")
    assert found.tasks == (
        Task("patrol read", True, "04/20/2024, 03:00:00"),
        Task("consistency check", True, "04/20/2024, 03:00:00"),
    )


@pytest.mark.parametrize(
    ("changes", "battery"),
    [
        ({"BBU_Info": None, "HwCfg": {"BBU": "Absent"}}, Battery(present=False)),
        ({"BBU_Info": None, "HwCfg": {"BBU": "NA"}}, None),
        (
            {"BBU_Info": None, "Cachevault_Info": [{"Model": "CVPM02", "State": "Learning"}]},
            Battery("CVPM02", True, "Learning", True, False),
        ),
        ({"BBU_Info": [{"Model": "iBBU08", "State": "Failed"}]}, Battery("iBBU08", True, "Failed", False, True)),
    ],
)
def test_batteries_that_are_not_well(changes: dict[str, Any], battery: Battery | None) -> None:
    (found,) = read_output(controllers(**changes))
    assert found.battery == battery


def test_a_patrol_read_that_is_not_planned() -> None:
    tasks = {"Patrol Read Reoccurrence": "168 hrs", "Next Patrol Read launch": "NA"}
    (found,) = read_output(controllers(**{"Scheduled Tasks": tasks}))
    assert found.tasks == (Task("patrol read", False, ""),)


def test_storcli_is_asked_only_where_it_is(machine_lab: Lab) -> None:
    assert read_storcli(machine_lab.machine) == ([], "")
    machine_lab.fake("perccli64", json.dumps({"Controllers": []}))
    assert read_storcli(machine_lab.machine) == ([], "")
    assert machine_lab.asked("perccli64") == ["/call show all J nolog"], "there is nobody to be asked for more"
    machine_lab.fake("perccli64", "no JSON")
    assert read_storcli(machine_lab.machine) == ([], "storcli: it printed no whole JSON")


def test_megacli(machine_lab: Lab) -> None:
    machine_lab.fake("MegaCli64", MEGACLI)
    (found,), trouble = read_megacli(machine_lab.machine)
    assert trouble == "" and found.name == "controller 0"
    assert found.battery == Battery("iBBU08", True, "Optimal", False, False, "Thu Dec 21 18:32:56 2023")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("Learn Cycle Active                      : No", "Learn Cycle Active : Yes", {"learning": True}),
        ("Battery Pack Missing                    : No", "Battery Pack Missing : Yes", {"present": False}),
        ("Battery Replacement required            : No", "Battery Replacement required : Yes", {"replace": True}),
        ("should be replaced : No", "should be replaced : Yes", {"replace": True}),
    ],
)
def test_megaclis_batteries_that_are_not_well(old: str, new: str, expected: dict[str, bool]) -> None:
    assert old in MEGACLI
    (found,) = read_batteries(MEGACLI.replace(old, new))
    assert found.battery is not None
    assert {name: getattr(found.battery, name) for name in expected} == expected


def test_a_controller_without_a_battery() -> None:
    text = "Adapter 1: Get BBU Status Failed.\nAdapter 2: The required hardware component is not present.\n"
    assert [(one.name, one.battery) for one in read_batteries(text)] == [("controller 2", Battery(present=False))]


def test_megaclis_patrol_read() -> None:
    text = "Adapter 0: Patrol Read Information:\n\nPatrol Read Mode: {}\nNext start time: 11/28/2026, 03:00:00\n"
    assert read_patrol(text.format("Auto")) == (Task("patrol read", True, "11/28/2026, 03:00:00"),)
    assert read_patrol(text.format("Disabled"))[0].scheduled is False
    assert read_patrol("nothing") == ()
    # The line of recorded outputs in public runbooks.
    for state, running in (("Stopped", False), ("Active", True)):
        (task,) = read_patrol(text.format("Auto") + f"Current State: {state}\n")
        assert task.running is running


def test_megacli_tells_each_adapters_patrol_read(machine_lab: Lab) -> None:
    lines = "Adapter {}: Patrol Read Information:\n\nPatrol Read Mode: {}\nCurrent State: {}\n"
    patrol = lines.format(0, "Auto", "Active") + lines.format(1, "Disabled", "Stopped")
    battery = "BBU status for Adapter: 0\nBatteryType: A\nBBU status for Adapter: 1\nBatteryType: B\n"
    machine_lab.write("said/patrol", patrol)
    machine_lab.write("said/battery", battery)
    said = machine_lab.root / "said"
    machine_lab.script("MegaCli64", f'[ "$1" = -AdpPR ] && cat {said}/patrol || cat {said}/battery')
    found, _ = read_megacli(machine_lab.machine)
    assert [one.tasks for one in found] == [
        (Task("patrol read", True, "", True),),
        (Task("patrol read", False, "", False),),
    ]


@pytest.mark.parametrize(
    ("word", "policies"),
    [
        ("NRWBD", ("write-back",)),
        ("RWTD", ("write-through",)),
        ("RAWBD", ("always write-back",)),
        ("RFWBC", ("always write-back",)),
        ("-", ()),
    ],
)
def test_the_write_policy_of_volumes(word: str, policies: tuple[str, ...]) -> None:
    (found,) = read_output(controllers(**{"VD LIST": [{"DG/VD": "0/0", "Cache": word}]}))
    assert found.policies == policies


@pytest.mark.parametrize(
    ("address", "pci"), [("00:06:00:00", "0000:06:00.0"), ("00:AF:00:01", "0000:af:00.1"), ("6", ""), (None, "")]
)
def test_the_address_of_a_controller(address: str | None, pci: str) -> None:
    (found,) = read_output(controllers(Basics={"Controller": 0, "PCI Address": address}))
    assert found.pci == pci


def test_a_patrol_read_that_runs(machine_lab: Lab) -> None:
    state = {"Controller Properties": [{"Ctrl_Prop": "PR Current State", "Value": "Active 12%"}]}
    entry = {"Command Status": {"Controller": 0, "Status": "Success"}, "Response Data": SERVERAID | state}
    machine_lab.fake("storcli64", json.dumps({"Controllers": [entry]}))
    (found,), _ = read_storcli(machine_lab.machine)
    assert {task.name: task.running for task in found.tasks} == {"patrol read": True, "consistency check": None}
    findings = [one.text for one in warn_of_checks(evidence(controllers=(found,)))]
    assert "a patrol read is under way" in findings


def test_checks_that_the_machine_plans(machine_lab: Lab) -> None:
    machine = machine_lab.machine
    assert find_check(machine, "md") == Task("check", False)
    assert find_check(machine, "dm") is None
    machine_lab.write("etc/cron.d/mdadm", "# all of it\n\n  # is comment\n")
    assert find_check(machine, "md") == Task("check", False)
    machine_lab.write("etc/cron.d/mdadm", "57 0 * * 0 root /usr/share/mdadm/checkarray --cron --all\n")
    assert find_check(machine, "md") == Task("check", True, "/etc/cron.d/mdadm")
    machine_lab.write("etc/systemd/system/mdmonitor.service.wants/mdcheck_start.timer")
    assert find_check(machine, "md") == Task("check", True, "mdcheck_start.timer")
    machine_lab.write("etc/systemd/system/timers.target.wants/zfs-scrub-monthly@tank.timer")
    assert find_check(machine, "zfs") == Task("scrub", True, "zfs-scrub-monthly@tank.timer")
