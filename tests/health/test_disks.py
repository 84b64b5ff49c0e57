"""Which disks there are, and which of them something stands on."""

from __future__ import annotations

from pathlib import Path

import pytest
from recordings import Lab

from flatwater.errors import UserError
from flatwater.health.disks import Disk, disks_under, find_disks, list_disks
from flatwater.health.machine import Machine
from flatwater.health.smartctl import drives_behind


def test_only_what_may_be_a_drive_is_listed(machine_lab: Lab) -> None:
    for number, name in enumerate(
        ("sda", "nvme0n1", "loop0", "dm-0", "md0", "sr0", "zram0", "mmcblk0", "mmcblk0boot0")
    ):
        machine_lab.disk(name, number=f"8:{number}")
    machine_lab.disk("sdb", number="9:1", size=0)
    machine_lab.disk("nvme1c0n1", number="9:2", hidden="1")
    assert [disk.name for disk in list_disks(machine_lab.machine)] == ["mmcblk0", "nvme0n1", "sda"]


def test_a_machine_without_sysfs_has_none(machine_lab: Lab) -> None:
    assert list_disks(machine_lab.machine) == []


def test_an_array_of_partitions_stands_on_its_disks(machine_lab: Lab) -> None:
    for number, name in enumerate(("sda", "sdb")):
        folder = machine_lab.disk(name, number=f"8:{16 * number}")
        part = folder / f"{name}1"
        part.mkdir()
        (part / "partition").write_text("1")
        (part / "dev").write_text(f"8:{16 * number + 1}")
    md = machine_lab.disk("md0", number="9:0")
    (md / "slaves").mkdir()
    for name in ("sda", "sdb"):
        (md / "slaves" / f"{name}1").symlink_to(machine_lab.root / f"sys/devices/{name}/{name}1")
    volume = machine_lab.disk("dm-3", number="253:3")
    (volume / "slaves").mkdir()
    (volume / "slaves/md0").symlink_to(md)
    assert disks_under(machine_lab.machine, volume) == [Disk("sda"), Disk("sdb")]
    assert find_disks(machine_lab.machine, "/dev/md0") == [Disk("sda"), Disk("sdb")]


def test_a_circle_of_devices_ends(machine_lab: Lab) -> None:
    one, other = machine_lab.disk("dm-0", number="253:0"), machine_lab.disk("dm-1", number="253:1")
    for folder, below in ((one, other), (other, one)):
        (folder / "slaves").mkdir()
        (folder / "slaves" / below.name).symlink_to(below)
    assert disks_under(machine_lab.machine, one) == []


@pytest.mark.parametrize("asked", ["/dev/nothing", "nothing", "/no/such/folder", "a\x00b", "x" * 5000])
def test_what_is_not_there_is_an_error_that_names_the_disks(machine_lab: Lab, asked: str) -> None:
    machine_lab.disk("sda")
    with pytest.raises(UserError, match="the disks of this machine: /dev/sda"):
        find_disks(machine_lab.machine, asked)


def test_what_is_on_no_disk_is_an_error() -> None:
    with pytest.raises(UserError, match="is on no block device"):
        find_disks(Machine(), "/proc")


def test_a_file_of_this_machine_is_on_its_disks(tmp_path: Path) -> None:
    try:
        disks = find_disks(Machine(), str(tmp_path))
    except UserError as error:
        pytest.skip(str(error))
    assert all(Path(f"/sys/block/{disk.name}").exists() for disk in disks)


def test_drives_behind_a_megaraid_controller(machine_lab: Lab) -> None:
    """The scan is that of scrutiny's test data, collector/pkg/detect/testdata/smartctl_scan_megaraid.json."""
    scan = """{"devices": [
        {"name": "/dev/bus/0", "info_name": "/dev/bus/0 [megaraid_disk_00]", "type": "megaraid,0", "protocol": "SCSI"},
        {"name": "/dev/bus/0", "info_name": "/dev/bus/0 [megaraid_disk_01]", "type": "megaraid,1", "protocol": "SCSI"},
        {"name": "/dev/sdb", "type": "scsi", "protocol": "SCSI"},
        {"name": "--evil", "type": "megaraid,9"}]}"""
    machine_lab.fake("smartctl", scan)
    machine_lab.write("sys/class/scsi_host/host2/proc_name", "megaraid_sas\n")
    folder = machine_lab.root / "sys/devices/pci0000:00/host2/target2:2:0/block/sda"
    folder.mkdir(parents=True)
    (folder / "size").write_text("100")
    machine_lab.link("sys/block/sda", folder)
    disks = list_disks(machine_lab.machine)
    behind = drives_behind(machine_lab.machine, disks)
    assert [disk.called for disk in behind] == ["/dev/bus/0 megaraid,0", "/dev/bus/0 megaraid,1"]
    machine_lab.disk("sdb")
    assert drives_behind(machine_lab.machine, [Disk("sdb")]) == []
