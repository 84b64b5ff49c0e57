"""The drives under a run, before and after it: what they count beside what the kernel counts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from recordings import Lab, recording

from flatwater.health.around import APART_MAX, DriveWatch
from flatwater.health.history import load_history
from flatwater.results.health import CellHealth

MB = 10**6
UNIT = 512_000


class Driven:
    """A machine with one NVMe drive under a folder of this machine, whose counters a test turns on."""

    def __init__(self, lab: Lab, place: Path) -> None:
        self.lab = lab
        self.place = place
        device = place.stat().st_dev
        self.number = f"{os.major(device)}:{os.minor(device)}"
        lab.disk("nvme0n1", number=self.number, device__model="A DRIVE")
        self.counters: dict[str, Any] = dict(
            recording("samsung-mzql21t9hcjr-00a07").output["nvme_smart_health_information_log"]
        )
        self.kernel_sectors = [1000, 2000]
        self.flash = 10**15
        self.serve()

    def serve(self) -> None:
        output = recording("samsung-mzql21t9hcjr-00a07").output
        told = output | {"nvme_smart_health_information_log": self.counters, "serial_number": "S1"}
        self.lab.fake("smartctl", json.dumps(told))
        self.lab.fake("nvme", json.dumps({"Physical media units written": {"hi": 0, "lo": self.flash}}))
        read, written = self.kernel_sectors
        numbers = self.number.replace(":", " ")
        self.lab.write(
            "proc/diskstats", f"   7 0 loop0 1 2 3\n {numbers} nvme0n1 10 0 {read} 5 20 0 {written} 5 0 9 9 0 0 0 0\n"
        )

    def write(self, kernel: int, drive: int, flash: int, **counters: float) -> None:
        """So many bytes were written, by each account."""
        self.kernel_sectors[1] += kernel // 512
        self.counters = self.counters | counters
        self.counters["data_units_written"] += drive // UNIT
        self.flash += flash
        self.serve()

    def watch(self) -> DriveWatch:
        return DriveWatch([self.place], self.lab.machine, self.lab.root / "history")


@pytest.fixture
def driven(machine_lab: Lab, tmp_path: Path) -> Driven:
    if os.major(tmp_path.stat().st_dev) == 0:
        pytest.skip("these files are on no block device")
    return Driven(machine_lab, tmp_path)


def ended(watch: DriveWatch, operations: int = 1000) -> CellHealth:
    health = watch.end(operations, "transaction")
    assert health is not None
    return health


def test_bytes_of_a_transaction_and_write_amplification(driven: Driven) -> None:
    watch = driven.watch()
    driven.write(2048 * MB, 2048 * MB, 5120 * MB)
    health = ended(watch, 100_000)
    (drive,) = health.drives
    assert (drive.host_written_bytes, drive.kernel_written_bytes) == (2048 * MB, 2048 * MB)
    assert drive.flash_written_bytes == 5120 * MB
    assert drive.write_amplification == pytest.approx(2.5)
    assert health.written_bytes_per_operation == pytest.approx(20_480)
    assert (health.operations, health.warnings) == (100_000, [])
    assert health.text[0].startswith("each transaction wrote 20.5 kB to /dev/nvme0n1 and read 0 B")
    assert "write amplification 2.50 in this cell" in health.text[1]


def test_up_to_two_percent_the_counts_agree(driven: Driven) -> None:
    assert APART_MAX == 0.02
    watch = driven.watch()
    driven.write(1024 * MB, 1024 * MB + 20 * MB, 0)
    assert ended(watch).warnings == []


def test_further_apart_the_counts_are_doubted(driven: Driven) -> None:
    watch = driven.watch()
    driven.write(1024 * MB, 1024 * MB + 24 * MB, 0)
    (warning,) = ended(watch).warnings
    assert warning.startswith("/dev/nvme0n1 counts 1.05 GB written and the kernel 1.02 GB")


def test_two_steps_of_the_drives_counter_are_no_difference(driven: Driven) -> None:
    watch = driven.watch()
    # A short run: the kernel wrote one unit and a half, and the drive counts two.
    driven.write(1024 * 750, 2 * UNIT, 0)
    assert ended(watch).warnings == []


def test_the_life_at_this_workloads_rate(driven: Driven) -> None:
    watch = driven.watch()
    before = driven.counters["data_units_written"] * UNIT
    driven.write(1024 * MB, 1024 * MB, 3072 * MB)
    health = ended(watch)
    (drive,) = health.drives
    assert drive.workload_life is not None and drive.workload_life.years is not None and health.span_s is not None
    # 3 % of its life took 10^15 bytes of flash, and the cell writes three times its host bytes.
    flash_per_s = 3 * 1024 * MB / health.span_s
    expected_s = (100 - drive.used_pct) / drive.used_pct * (10**15 + 3072 * MB) / flash_per_s if drive.used_pct else 0
    assert drive.workload_life.years * 365.25 * 86_400 == pytest.approx(expected_s, rel=1e-3)
    assert before and health.years == drive.workload_life.years
    assert "always written like this it lasts " in health.text[1]


def test_throttling_errors_and_temperatures(driven: Driven) -> None:
    watch = driven.watch()
    driven.write(MB, MB, MB, warning_temp_time=3, media_errors=2, temperature=70)
    health = ended(watch)
    (drive,) = health.drives
    assert (drive.media_errors, drive.hot_minutes) == (2, 3)
    assert health.warnings == [
        (
            "/dev/nvme0n1 was at its warning temperature or above for 3 min while it was measured, and may have slowed "
            "itself down"
        ),
        "/dev/nvme0n1 had 2 media errors while it was measured",
    ]


def test_both_readings_go_into_the_history(driven: Driven) -> None:
    watch = driven.watch()
    driven.write(MB, MB, MB)
    ended(watch)
    history = load_history(driven.lab.root / "history")
    assert len(history.entries) == 2


def test_a_drive_that_goes_blind_meanwhile(driven: Driven) -> None:
    watch = driven.watch()
    driven.write(1024 * MB, 0, 0)
    driven.lab.fake("smartctl", '{"broken')
    driven.lab.fake("nvme", "")
    health = ended(watch)
    (drive,) = health.drives
    assert drive.host_written_bytes is None and drive.kernel_written_bytes == 1024 * MB
    assert "its wear cannot be seen: smartctl: it printed no whole JSON" in health.text[1]


@pytest.mark.parametrize("text", ["", "garbage\n", "   8       0 sda 1 2 3\n", "\xff\x00"])
def test_broken_counts_of_the_kernel(driven: Driven, text: str) -> None:
    watch = driven.watch()
    driven.write(1024 * MB, 1024 * MB, 0)
    driven.lab.write("proc/diskstats", text)
    health = ended(watch)
    assert health.drives[0].kernel_written_bytes is None
    assert health.drives[0].host_written_bytes == 1024 * MB
    assert health.written_bytes_per_operation is None


def test_no_operation_is_no_division(driven: Driven) -> None:
    assert ended(driven.watch(), 0).written_bytes_per_operation is None


def test_files_on_no_drive_have_no_health(machine_lab: Lab) -> None:
    assert DriveWatch([Path("/proc")], machine_lab.machine).end(5, "request") is None


def test_the_temperature_is_sampled_where_there_is_a_sensor(driven: Driven) -> None:
    assert driven.watch().probes() == []
    sensor = driven.lab.root / "sys/devices/nvme0n1/device/hwmon1/temp1_input"
    sensor.parent.mkdir(parents=True)
    sensor.write_text("41850\n")
    (probe,) = driven.watch().probes()
    assert probe.sample() == {"storage.temperature_c": 41.85}
    sensor.write_text("too hot to tell")
    assert probe.sample() == {}
    sensor.unlink()
    assert probe.sample() == {}


def behind_controller(driven: Driven, **more: Any) -> None:
    """The disk becomes a volume of the MegaRAID controller at 06:00.0, which storcli tells of."""
    folder = driven.lab.root / "sys/devices/pci0000:00/0000:06:00.0/host0/block/sda"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "size").write_text("1000")
    (folder / "dev").write_text(driven.number)
    for link in ("sys/block/sda", f"sys/dev/block/{driven.number}"):
        (driven.lab.root / link).unlink(missing_ok=True)
        driven.lab.link(link, folder)
    driven.lab.write("sys/class/scsi_host/host0/proc_name", "megaraid_sas")
    say(driven.lab, **more)


def say(lab: Lab, state: str = "Optimal", patrol: str = "Stopped", cache: str = "NRWBD", others: int = 0) -> None:
    """What storcli prints from now on; `others` controllers stand before the disk's own."""

    def controller(number: int) -> dict[str, Any]:
        data = {
            "Basics": {"Controller": number, "Model": "PERC H730", "PCI Address": f"00:0{6 - others + number}:00:00"},
            "BBU_Info": [{"Model": "BBU", "State": state if number == others else "Optimal"}],
            "VD LIST": [{"DG/VD": "0/0", "Cache": cache}],
            "Controller Properties": [
                {"Ctrl_Prop": "PR Mode", "Value": "Auto"},
                {"Ctrl_Prop": "PR Current State", "Value": patrol if number == others else "Stopped"},
            ],
        }
        return {"Command Status": {"Controller": number, "Status": "Success"}, "Response Data": data}

    lab.fake("storcli64", json.dumps({"Controllers": [controller(number) for number in range(others + 1)]}))


def test_a_battery_that_relearns_meanwhile(driven: Driven) -> None:
    behind_controller(driven)
    watch = driven.watch()
    say(driven.lab, state="Learning")
    health = ended(watch)
    (controller,) = health.controllers
    assert (controller.battery_before, controller.battery, controller.worst_battery) == ("well", "learning", "learning")
    assert (controller.model, controller.policies) == ("PERC H730", ["write-back"])
    (warning,) = health.warnings
    assert warning.startswith("controller 0 had a battery that relearned: its volumes may write through, and then ")


def test_a_patrol_read_beside_the_run(driven: Driven) -> None:
    behind_controller(driven, patrol="Active")
    watch = driven.watch()
    say(driven.lab)
    assert ended(watch).warnings == ["controller 0 was busy with a patrol read when the run began"]


def test_volumes_that_write_back_without_a_battery_are_a_danger_and_not_slow(driven: Driven) -> None:
    behind_controller(driven, state="Failed", cache="NRAWBD")
    health = ended(driven.watch())
    (controller,) = health.controllers
    assert controller.writes_back_anyway
    (warning,) = health.warnings
    assert "must be replaced" in warning and "a power failure loses what they had not written" in warning


def test_of_several_controllers_the_one_that_the_data_are_behind(driven: Driven) -> None:
    behind_controller(driven, state="Failed", others=2)
    (controller,) = ended(driven.watch()).controllers
    assert (controller.name, controller.battery) == ("controller 2", "replace")


def test_which_of_several_controllers_it_is_may_not_be_told(driven: Driven) -> None:
    behind_controller(driven)
    driven.lab.fake("storcli64", "broken")
    driven.lab.fake(
        "MegaCli64", "BBU status for Adapter: 0\nBatteryType: A\nBBU status for Adapter: 1\nBatteryType: B\n"
    )
    health = ended(driven.watch())
    assert health.controllers == []
    assert "the RAID controller: there are several, and which one the data are behind is not told" in health.text


def test_no_controller_is_asked_about_drives_that_are_behind_none(driven: Driven) -> None:
    say(driven.lab, state="Failed")
    assert ended(driven.watch()).controllers == []
    assert driven.lab.asked("storcli64") == []


def test_a_program_that_breaks_meanwhile_leaves_what_was_seen_before(driven: Driven) -> None:
    behind_controller(driven, state="Failed")
    watch = driven.watch()
    driven.lab.fake("storcli64", "broken")
    health = ended(watch)
    (controller,) = health.controllers
    assert (controller.battery_before, controller.battery) == ("replace", None)
    assert "storcli: it printed no whole JSON" in health.text


@pytest.mark.parametrize(
    ("action", "done", "expected"),
    [
        ("check", "250 / 1000", {"storage.check_pct": 25.0}),
        ("resync", "2000 / 1000", {"storage.rebuild_pct": 100.0}),
        ("recover", "none", {"storage.rebuild_pct": 0.0}),
        ("idle", "none", {}),
        ("\x1b[2J", "1 / 0", {}),
    ],
)
def test_work_of_a_software_array_is_sampled(
    driven: Driven, action: str, done: str, expected: dict[str, float]
) -> None:
    lab = driven.lab
    lab.disk("nvme1n1", number="259:7")
    array = lab.root / "sys/devices/virtual/block/md0"
    for path, text in {"size": "1000", "dev": "9:0", "md/level": "raid1", "md/sync_action": action}.items():
        lab.write(str((array / path).relative_to(lab.root)), text)
    (array / "md/sync_completed").write_text(done)
    for name in ("nvme0n1", "nvme1n1"):
        lab.link(f"sys/devices/virtual/block/md0/slaves/{name}", lab.root / "sys/devices" / name)
    lab.link("sys/block/md0", array)
    watch = driven.watch()
    (probe,) = watch.probes()
    assert probe.sample() == expected
    (told,) = ended(watch).arrays
    assert (told.name, told.level) == ("/dev/md0", "raid1")
    if expected:
        assert (
            ended(watch)
            .warnings[0]
            .startswith(f"/dev/md0 was busy with itself when the run began and when it ended: {action}")
        )
