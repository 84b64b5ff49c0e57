"""NVMe's log pages: as bytes, through the kernel, through nvme-cli; and the OCP page."""

from __future__ import annotations

import ctypes
import json
import struct
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from recordings import NOW_S, Lab, recording

from flatwater.health.disks import Disk
from flatwater.health.intel_nvme import decode_intel
from flatwater.health.machine import Machine
from flatwater.health.nvme_cli import read_smart_log
from flatwater.health.nvme_ioctl import ADMIN_COMMAND, COMMAND, COMMAND_BYTES
from flatwater.health.nvme_log import critical_words, decode_log
from flatwater.health.ocp import IDENTIFIER, decode_ocp, read_ocp_json
from flatwater.health.reading import read_drive
from flatwater.health.smartctl_nvme import read_nvme
from flatwater.health.untrusted import Untrusted

DISK = Disk("nvme0n1")


def smart_page(
    *,
    warning: int = 0,
    kelvin: int = 311,
    spare: int = 100,
    threshold: int = 10,
    used: int = 3,
    written: int = 464403132,
) -> bytes:
    """The page as the specification lays it out; figures of an Intel P3700 (issue 8594 of netdata) by default."""
    page = bytearray(512)
    struct.pack_into("<BHBBB", page, 0, warning, kelvin, spare, threshold, used)
    numbers = {32: 228744653, 48: written, 64: 2894926909, 80: 9043251297, 96: 13, 112: 19, 128: 27567}
    for offset, value in numbers.items():
        page[offset : offset + 16] = value.to_bytes(16, "little")
    struct.pack_into("<II", page, 192, 7, 0)
    struct.pack_into("<II", page, 216, 2, 1)
    return bytes(page)


def ocp_page(written: int = 527805403860992, endurance: int = 14_000 * 10**12, identifier: bytes = IDENTIFIER) -> bytes:
    page = bytearray(512)
    page[0:16] = written.to_bytes(16, "little")
    page[96] = 4
    page[176:192] = endurance.to_bytes(16, "little")
    page[496:512] = identifier
    return bytes(page)


@dataclass(frozen=True)
class PagesOf(Machine):
    """A machine whose kernel answers Get Log Page with these pages, and refuses every other one."""

    pages: dict[int, bytes] = field(default_factory=dict)

    def control(self, device: Path, request: int, argument: bytearray) -> str:
        assert request == ADMIN_COMMAND and len(argument) == COMMAND_BYTES
        words = struct.unpack(COMMAND, argument)
        opcode, nsid, address, length, cdw10 = words[0], words[3], words[7], words[9], words[10]
        assert (opcode, nsid) == (2, 0xFFFFFFFF)
        assert (cdw10 >> 16) + 1 == length // 4
        page = self.pages.get(cdw10 & 0xFF)
        if page is None:
            return "the drive answered with status 0x4109"
        ctypes.memmove(address, page, length)
        return ""


def nvme_machine(lab: Lab, pages: dict[int, bytes]) -> Machine:
    lab.disk("nvme0n1", number="259:0", device__model="INTEL SSDPEDMD400G4", queue__rotational="0")
    lab.write("sys/class/nvme/nvme0/serial", "A SERIAL NUMBER")
    lab.write("dev/nvme0")
    return PagesOf(lab.root, lab.machine.programs, pages=pages)


def test_the_page_says_what_nvme_cli_says_of_the_same_drive() -> None:
    page, told = decode_log(smart_page()), read_smart_log(Untrusted(recording("intel-ssdpedmd400g4-nvme-cli").output))
    assert page is not None and told is not None
    for name in (
        "used_pct",
        "spare_pct",
        "spare_threshold_pct",
        "host_written_bytes",
        "temperature_c",
        "power_on_hours",
    ):
        assert getattr(page, name) == getattr(told, name), name
    assert page.host_written_bytes == 464403132 * 512_000
    assert (page.hot_minutes, page.throttle_events) == (7, 3)


@pytest.mark.parametrize("data", [b"", bytes(511), bytes(512)])
def test_what_cannot_be_the_page_is_none(data: bytes) -> None:
    assert decode_log(data) is None


def test_counters_of_128_bits() -> None:
    gauges = decode_log(smart_page(written=2**100))
    assert gauges is not None and gauges.host_written_bytes == 2**100 * 512_000.0


def test_critical_warnings_in_words() -> None:
    assert critical_words(0) == critical_words(None) == ()
    assert critical_words(0b1001) == ("the spare blocks are below their threshold", "the media are read-only")
    assert critical_words(1 << 7) == ("critical warning bit 7",)
    assert critical_words(4096) == ()


@pytest.mark.parametrize("name", ["nvme-cli-2-11", "nvme-cli-2-3-floats", "nvme-cli-2-3-strings"])
def test_nvme_cli_in_each_of_its_formats(name: str) -> None:
    recorded = recording(name)
    gauges = read_smart_log(Untrusted(recorded.output))
    assert gauges is not None and gauges.passed is True
    assert gauges.host_written_bytes == recorded.expected["host_written_bytes"]


def test_nvme_cli_without_readings_is_none() -> None:
    assert read_smart_log(Untrusted({"error": "no such device"})) is None


def test_smartctls_limits_of_the_temperature() -> None:
    limits = {"current": 44, "op_limit_max": 75, "critical_limit_max": 80}
    gauges = read_nvme(Untrusted({"temperature": limits, "nvme_smart_health_information_log": {"percentage_used": 1}}))
    assert (gauges.temperature_c, gauges.temperature_warning_c, gauges.temperature_critical_c) == (44, 75, 80)
    assert gauges.throttle_events is None


def test_the_kernel_tells_the_throttling_that_smartctl_leaves_out(machine_lab: Lab) -> None:
    machine_lab.fake("smartctl", recording("samsung-mzql21t9hcjr-00a07").text)
    reading = read_drive(nvme_machine(machine_lab, {0x02: smart_page(used=99)}), DISK, NOW_S)
    assert reading.gauges.throttle_events == 3
    assert reading.gauges.used_pct == 3, "what smartctl tells is left as it is"
    assert reading.sources == ("smartctl", "sysfs", "ioctl")


def test_the_ocp_page() -> None:
    gauges = decode_ocp(ocp_page())
    assert gauges is not None
    assert (gauges.nand_written_bytes, gauges.endurance_bytes, gauges.throttle_events) == (527805403860992, 14e15, 4)
    assert decode_ocp(ocp_page(identifier=bytes(16))) is None
    assert decode_ocp(ocp_page()[:500]) is None


def test_nvme_clis_account_of_the_ocp_page_in_both_spellings() -> None:
    # The bytes written are those of a drive that kdevops's documentation shows.
    first = {
        "Physical media units written": {"hi": 0, "lo": 527805403860992},
        "Number of Thermal throttling events": 1,
        "Endurance estimate": 7008000000000000,
        "Log page GUID": "0xafd514c97c6f4f9ca4f2bfea2810afc5",
    }
    second = {"physical_media_units_written": {"hi": 1, "lo": 5}, "thermal_throttling_events": 2}
    found = read_ocp_json(Untrusted(first))
    assert found is not None
    assert (found.nand_written_bytes, found.endurance_bytes, found.throttle_events) == (527805403860992, 7.008e15, 1)
    other = read_ocp_json(Untrusted(second))
    assert other is not None and other.nand_written_bytes == float(2**64 + 5)
    assert read_ocp_json(Untrusted(first | {"Log page GUID": "0x1234"})) is None
    assert read_ocp_json(Untrusted({"Log page GUID": "0xafd514c97c6f4f9ca4f2bfea2810afc5"})) is None


def intel_page(pieces: int) -> bytes:
    """Entries as nvme-cli's plugin for Intel's drives lays them out: key, normalised value, raw value."""
    entries = ((0xAB, 0), (0xAD, 0x0003_0006_0001), (0xF4, pieces), (0xF5, pieces // 3))
    page = b"".join(bytes([key, 0, 0, 100, 0]) + raw.to_bytes(6, "little") + b"\0" for key, raw in entries)
    return page.ljust(512, b"\0")


@pytest.mark.parametrize(
    ("data", "written"),
    [
        (intel_page(1000), 1000 * 32 * 2**20),
        (intel_page(0), None),
        (intel_page(2**48 - 1), None),
        (bytes(512), None),
        (b"", None),
        (b"\xf4" * 5, None),
    ],
)
def test_intels_page(data: bytes, written: float | None) -> None:
    gauges = decode_intel(data)
    assert (None if gauges is None else gauges.nand_written_bytes) == written


def test_intels_page_is_asked_of_intels_drives_only(machine_lab: Lab) -> None:
    pages = {0x02: smart_page(), 0xCA: intel_page(1000), 0xC0: ocp_page()}
    machine = nvme_machine(machine_lab, pages)
    assert read_drive(machine, DISK, NOW_S).sources[-1] == "OCP log"
    machine_lab.write("sys/class/nvme/nvme0/device/vendor", "0x8086\n")
    reading = read_drive(machine, DISK, NOW_S)
    assert reading.sources[-1] == "Intel log"
    assert reading.gauges.nand_written_bytes == 1000 * 32 * 2**20


def test_the_kernel_is_asked_where_no_program_is_installed(machine_lab: Lab) -> None:
    machine = nvme_machine(machine_lab, {0x02: smart_page(), 0xC0: ocp_page()})
    reading = read_drive(machine, DISK, NOW_S)
    assert reading.sources == ("ioctl", "sysfs", "OCP log")
    assert reading.identity.model == "INTEL SSDPEDMD400G4"
    assert len(reading.identity.key) == 16
    assert reading.gauges.used_pct == 3
    assert reading.gauges.nand_written_bytes == 527805403860992
    assert reading.unseen == ()


def test_a_drive_without_the_ocp_page_says_so(machine_lab: Lab) -> None:
    reading = read_drive(nvme_machine(machine_lab, {0x02: smart_page()}), DISK, NOW_S)
    assert reading.gauges.used_pct == 3
    assert reading.unseen == ("what was written to its flash: the drive answered with status 0x4109",)


def test_a_vendors_own_page_of_that_number_is_not_believed(machine_lab: Lab) -> None:
    pages = {0x02: smart_page(), 0xC0: ocp_page(identifier=b"another vendor's")}
    reading = read_drive(nvme_machine(machine_lab, pages), DISK, NOW_S)
    assert reading.gauges.nand_written_bytes is None


def test_nvme_cli_comes_before_the_kernel(machine_lab: Lab) -> None:
    machine_lab.fake("nvme", recording("nvme-cli-2-11").text)
    reading = read_drive(nvme_machine(machine_lab, {}), DISK, NOW_S)
    assert reading.sources[0] == "nvme-cli"
    assert reading.gauges.used_pct == 30
    assert machine_lab.asked("nvme")[0] == "smart-log /dev/nvme0n1 --output-format=json"


def test_smartctl_comes_before_both(machine_lab: Lab) -> None:
    machine_lab.fake("smartctl", recording("samsung-mzql21t9hcjr-00a07").text)
    machine_lab.fake("nvme", json.dumps({"Physical media units written": {"hi": 0, "lo": 2 * 10**14}}))
    reading = read_drive(nvme_machine(machine_lab, {}), DISK, NOW_S)
    assert reading.sources == ("smartctl", "sysfs", "OCP log")
    assert reading.gauges.nand_written_bytes == 2e14
    assert reading.identity.key  # the kernel's serial number, where the recording has none


def test_without_the_right_to_ask_the_kernels_own_figures_are_left(machine_lab: Lab) -> None:
    machine_lab.disk("nvme0n1", number="259:0", device__model="A DRIVE", device__hwmon1__temp1_input="38850")
    reading = read_drive(machine_lab.machine, DISK, NOW_S)
    assert reading.sources == ("sysfs",)
    assert reading.gauges.temperature_c == 38.85
    assert reading.unseen == (
        "smartctl is not installed",
        "nvme-cli is not installed",
        "the kernel: No such file or directory",
    )
