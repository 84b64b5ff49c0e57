"""Programs that print too much, nothing, or never end."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from recordings import Lab, recording

from flatwater.health.disks import Disk
from flatwater.health.machine import OUTPUT_BYTES_MAX
from flatwater.health.smartctl import read_smartctl

#: smartctl's own words where the user may not open a device.
REFUSED = "Smartctl open device: /dev/sda failed: Permission denied"


def test_a_hundred_megabytes_are_not_read(machine_lab: Lab) -> None:
    machine_lab.script("smartctl", "printf '{\"a\": \"'\nhead -c 104857600 /dev/zero | tr '\\0' x\nprintf '\"}'")
    said = machine_lab.machine.ask(str(machine_lab.root / "bin/smartctl"))
    assert said.trouble == "smartctl printed more than 4 MiB"
    assert said.output == b""
    reading, why = read_smartctl(machine_lab.machine, Disk("sda"), 0.0)
    assert reading is None and why == said.trouble


def test_up_to_the_limit_everything_is_read(machine_lab: Lab) -> None:
    machine_lab.script("smartctl", f"head -c {OUTPUT_BYTES_MAX} /dev/zero")
    said = machine_lab.machine.ask(str(machine_lab.root / "bin/smartctl"))
    assert (said.trouble, len(said.output), said.code) == ("", OUTPUT_BYTES_MAX, 0)


def test_a_program_that_never_ends_is_ended_with_what_it_started(machine_lab: Lab) -> None:
    pid = machine_lab.root / "pid"
    machine_lab.script("smartctl", f"sleep 1000 & echo $! > {pid}\nwait")
    lab = replace(machine_lab, patience_s=0.5)
    said = lab.machine.ask(str(machine_lab.root / "bin/smartctl"))
    assert said.trouble == "smartctl did not answer within 0.5 s"
    while _is_alive(int(pid.read_text())):
        time.sleep(0.01)


def test_one_that_closes_its_output_and_goes_on_is_ended(machine_lab: Lab) -> None:
    machine_lab.script("smartctl", "exec >&-\nsleep 1000")
    lab = replace(machine_lab, patience_s=0.5)
    assert lab.machine.ask(str(machine_lab.root / "bin/smartctl")).trouble == "smartctl did not end within 0.5 s"


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # One that is dead and waits for its parent is not alive.
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_program_that_cannot_be_started(machine_lab: Lab) -> None:
    path = machine_lab.write("bin/smartctl", "no program at all \x00")
    path.chmod(0o755)
    said = machine_lab.machine.ask(str(path))
    assert "cannot be started" in said.trouble


@pytest.mark.parametrize(
    ("output", "code", "why"),
    [
        ("smartctl 6.6 2017\nUNRECOGNIZED OPTION: j", 1, "smartctl: its version has no JSON (7.0 has)"),
        ("", 0, "smartctl: it printed nothing"),
        (
            json.dumps({"smartctl": {"exit_status": 2, "messages": [{"string": REFUSED, "severity": "error"}]}}),
            2,
            f"smartctl: {REFUSED}",
        ),
        (
            '{"device": {"protocol": "NVMe"}, "smartctl": {"exit_status": 2}}',
            2,
            "smartctl: the device could not be read",
        ),
    ],
)
def test_why_smartctl_tells_nothing(machine_lab: Lab, output: str, code: int, why: str) -> None:
    machine_lab.fake("smartctl", output, code)
    assert read_smartctl(machine_lab.machine, Disk("sda"), 0.0) == (None, why)


def test_a_drive_that_fails_is_read_all_the_same(machine_lab: Lab) -> None:
    # Bits 3 to 7 of the exit status are about the drive, not about the reading: smartctl(8).
    machine_lab.fake("smartctl", recording("hitachi-hds721050dle630").text, 0b11011000)
    reading, why = read_smartctl(machine_lab.machine, Disk("sda"), 0.0)
    assert why == "" and reading is not None and reading.gauges.passed is False


def test_smartctl_is_only_asked(machine_lab: Lab) -> None:
    machine_lab.fake("smartctl", recording("st3500418as").text)
    read_smartctl(machine_lab.machine, Disk("sda", "megaraid,4", "/dev/bus/0"), 0.0)
    (asked,) = machine_lab.asked("smartctl")
    assert asked.endswith("--device megaraid,4 /dev/bus/0")
    assert not {"-t", "--test", "-s", "--smart", "--set", "-X"} & set(asked.split())


def test_files_of_the_kernel_are_read_up_to_a_limit(machine_lab: Lab) -> None:
    path = machine_lab.write("sys/long", "x" * (3 << 20))
    assert len(machine_lab.machine.read(path) or "") == 1 << 20
    assert machine_lab.machine.read("/sys/nothing") is None
    assert machine_lab.machine.read("/sys") is None
