"""What the kernel tells everybody."""

from __future__ import annotations

import pytest
from recordings import NOW_S, Lab

from flatwater.health.disks import Disk
from flatwater.health.reading import VIRTUAL, read_drive
from flatwater.health.sysfs import is_virtual, read_sysfs


def test_a_sata_disk(machine_lab: Lab) -> None:
    machine_lab.disk(
        "sda",
        size=7_814_037_168,
        device__vendor="ATA     ",
        device__model="ST4000NM0035-1V4\x1b[2J",
        device__rev="TN05",
        queue__rotational="1",
        device__hwmon__hwmon3__temp1_input="31000",
        device__hwmon__hwmon3__temp1_max="55000",
        device__hwmon__hwmon3__temp1_crit="-273150",
    )
    reading = read_sysfs(machine_lab.machine, Disk("sda"), NOW_S)
    assert reading.identity.capacity_bytes == 4_000_787_030_016
    assert reading.identity.rotational is True
    assert "\x1b" not in reading.identity.model and reading.identity.model.startswith("ATA ST4000NM0035-1V4")
    gauges = reading.gauges
    assert (gauges.temperature_c, gauges.temperature_warning_c, gauges.temperature_critical_c) == (31, 55, None)


@pytest.mark.parametrize(
    ("text", "used_pct"),
    [
        ("0x02 0x01", 20),
        ("0x01 0x0b", 110),
        ("0x00 0x00", None),
        ("", None),
        ("0xzz 0x03", 30),
        ("0xffffffff 0x01", 10),
    ],
)
def test_emmc_tells_its_wear_in_steps(machine_lab: Lab, text: str, used_pct: float | None) -> None:
    machine_lab.disk("mmcblk0", device__name="DG4032", device__life_time=text)
    assert read_sysfs(machine_lab.machine, Disk("mmcblk0"), NOW_S).gauges.used_pct == used_pct


def test_nonsense_in_sysfs_is_left_out(machine_lab: Lab) -> None:
    machine_lab.disk(
        "sda", device__hwmon1__temp1_input="hot", device__hwmon1__temp1_max="9" * 50, queue__rotational="?"
    )
    (machine_lab.root / "sys/devices/sda/size").write_text("9" * 400)
    reading = read_sysfs(machine_lab.machine, Disk("sda"), NOW_S)
    assert reading.identity.capacity_bytes is None and reading.identity.rotational is None
    assert reading.gauges.temperature_c is None


@pytest.mark.parametrize(("name", "vendor"), [("vda", "0x1af4"), ("sda", "QEMU"), ("sdb", "VMware"), ("xvda", "")])
def test_a_virtual_machines_disk_is_not_asked(machine_lab: Lab, name: str, vendor: str) -> None:
    machine_lab.fake("smartctl", "{}")
    machine_lab.disk(name, device__vendor=vendor, queue__rotational="1")
    assert is_virtual(machine_lab.machine, Disk(name))
    reading = read_drive(machine_lab.machine, Disk(name), NOW_S)
    assert reading.unseen == (VIRTUAL,)
    assert machine_lab.asked("smartctl") == []
    assert not is_virtual(machine_lab.machine, Disk("sdz"))


def test_a_clouds_volume_on_nvme_is_not_asked(machine_lab: Lab) -> None:
    machine_lab.disk("nvme0n1", device__model="Amazon Elastic Block Store")
    assert is_virtual(machine_lab.machine, Disk("nvme0n1"))
    machine_lab.disk("nvme1n1", number="259:1", device__model="Amazon EC2 NVMe Instance Storage")
    assert not is_virtual(machine_lab.machine, Disk("nvme1n1")), "a drive of the host, given to the machine"
