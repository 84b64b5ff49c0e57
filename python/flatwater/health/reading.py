"""Reading one drive: everything that tells of it is asked, the best first, and each fills in what others left out."""

from __future__ import annotations

from dataclasses import replace

from flatwater.health.disks import Disk, character_device
from flatwater.health.drive import Gauges, Identity, Reading, plausible
from flatwater.health.intel_nvme import read_intel
from flatwater.health.machine import Machine
from flatwater.health.nvme_cli import NAME as NVME_CLI
from flatwater.health.nvme_cli import read_nvme_cli
from flatwater.health.nvme_ioctl import NAME as IOCTL
from flatwater.health.nvme_ioctl import read_page
from flatwater.health.nvme_log import LOG_BYTES, LOG_ID, decode_log
from flatwater.health.ocp import read_ocp
from flatwater.health.smartctl import drive_key, read_smartctl
from flatwater.health.sysfs import is_virtual, read_sysfs
from flatwater.health.untrusted import one_line

VIRTUAL = "a disk that a hypervisor makes has no gauges of its own: ask on the host"


def read_drive(machine: Machine, disk: Disk, at_s: float) -> Reading:
    """All that can be seen of a drive. Never raises for what a drive or a program says."""
    base = read_sysfs(machine, disk, at_s)
    if is_virtual(machine, disk) and not disk.way:
        return replace(base, unseen=(VIRTUAL,))
    found, why = read_smartctl(machine, disk, at_s)
    reasons = [why] if why else []
    if found is None and disk.is_nvme:
        found, more = _read_nvme(machine, disk, at_s)
        reasons = [] if found is not None else [*reasons, *more]
    reading = base if found is None else found.joined(base)
    if disk.is_nvme:
        reading = _with_serial(machine, disk, reading)
        if found is not None:
            reading = _with_flash(machine, disk, _with_throttling(machine, disk, reading))
    if found is None and not reading.gauges.used_pct:
        reading = replace(reading, unseen=(*reading.unseen, *reasons))
    return replace(reading, gauges=plausible(reading.gauges))


def _read_nvme(machine: Machine, disk: Disk, at_s: float) -> tuple[Reading | None, list[str]]:
    """The log page 02h through nvme-cli, or through the kernel; and why neither works."""
    gauges, why = read_nvme_cli(machine, disk)
    if gauges is not None:
        return _reading(disk, at_s, NVME_CLI, gauges), []
    data, trouble = read_page(machine, disk, LOG_ID, LOG_BYTES)
    gauges = decode_log(data)
    if gauges is not None:
        return _reading(disk, at_s, IOCTL, gauges), []
    return None, [why, f"the kernel: {trouble or 'the log page has nothing in it'}"]


def _reading(disk: Disk, at_s: float, source: str, gauges: Gauges) -> Reading:
    return Reading(disk.called, at_s, (source,), Identity(protocol="NVMe", rotational=False), gauges)


def _with_serial(machine: Machine, disk: Disk, reading: Reading) -> Reading:
    """The key of an NVMe drive, whose serial number the kernel tells everybody."""
    if reading.identity.key:
        return reading
    controller = character_device(machine, disk).name
    serial = one_line(machine.read(f"/sys/class/nvme/{controller}/serial") or "")
    key = drive_key(reading.identity.model, serial)
    return replace(reading, identity=replace(reading.identity, key=key))


def _with_throttling(machine: Machine, disk: Disk, reading: Reading) -> Reading:
    """How often the drive slowed itself down, which smartctl's JSON leaves out; without the right to ask, unknown."""
    if reading.gauges.throttle_events is not None:
        return reading
    data, _ = read_page(machine, disk, LOG_ID, LOG_BYTES)
    gauges = decode_log(data)
    return reading if gauges is None else reading.joined(_reading(disk, reading.at_s, IOCTL, gauges))


def _with_flash(machine: Machine, disk: Disk, reading: Reading) -> Reading:
    """What the drive says of its flash, where it has its maker's page, or that of data centres' drives."""
    if reading.gauges.nand_written_bytes is not None:
        return reading
    gauges, _ = read_intel(machine, disk)
    if gauges is not None:
        return reading.joined(Reading(reading.device, reading.at_s, ("Intel log",), gauges=gauges))
    gauges, why = read_ocp(machine, disk)
    if gauges is None:
        return replace(reading, unseen=(*reading.unseen, f"what was written to its flash: {why}"))
    return reading.joined(Reading(reading.device, reading.at_s, ("OCP log",), gauges=gauges))
