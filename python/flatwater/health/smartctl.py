"""smartctl (smartmontools 7.0 or later, whose JSON is documented): asked once a drive, read by the drive's protocol."""

from __future__ import annotations

import hashlib

from flatwater.health.disks import Disk
from flatwater.health.drive import Gauges, Identity, Protocol, Reading
from flatwater.health.machine import Machine
from flatwater.health.smartctl_ata import read_ata
from flatwater.health.smartctl_nvme import read_nvme
from flatwater.health.smartctl_scsi import read_scsi
from flatwater.health.untrusted import UnreadableError, Untrusted, one_line, parse_json

NAME = "smartctl"
#: What is asked: no test is begun, no log is cleared. What a protocol does not have is left out by smartctl itself.
_QUESTION = ("--json=c", "--info", "--health", "--attributes", "--log=error", "--log=devstat", "--log=ssd")
#: smartctl(8), exit status: the arguments were wrong; the device could not be opened.
_BAD_ARGUMENTS, _NOT_OPENED = 1, 2
_READERS = {"ATA": read_ata, "SCSI": read_scsi, "NVMe": read_nvme}


def read_smartctl(machine: Machine, disk: Disk, at_s: float) -> tuple[Reading | None, str]:
    """What smartctl tells of a drive; and why it tells nothing."""
    program = machine.program(NAME)
    if program is None:
        return None, "smartctl is not installed"
    way = ("--device", disk.way) if disk.way else ()
    said = machine.ask(program, *_QUESTION, *way, disk.path)
    if said.trouble:
        return None, said.trouble
    try:
        told = parse_json(said.output)
    except UnreadableError as error:
        old = (said.code or 0) & _BAD_ARGUMENTS
        return None, f"smartctl: {'its version has no JSON (7.0 has)' if old else error}"
    return read_output(told, disk, at_s)


def read_output(told: Untrusted, disk: Disk, at_s: float) -> tuple[Reading | None, str]:
    """The JSON as a reading; and why it is none."""
    protocol = told.at("device", "protocol").text
    if protocol not in _READERS or (told.at("smartctl", "exit_status").whole or 0) & (_BAD_ARGUMENTS | _NOT_OPENED):
        return None, f"smartctl: {_complaint(told)}"
    identity = _identity(told, protocol)
    gauges = _READERS[protocol](told)
    if gauges == Gauges():
        why = "smartctl: the drive answers, and tells no gauges" + (
            "" if told.at("smart_support", "available").flag is not False else " (it has no SMART)"
        )
        return Reading(disk.called, at_s, (NAME,), identity, unseen=(why,)), ""
    return Reading(disk.called, at_s, (NAME,), identity, gauges), ""


def _complaint(told: Untrusted) -> str:
    """What smartctl says is wrong."""
    messages = [line.at("string").text for line in told.at("smartctl", "messages").items()]
    said = "; ".join(message for message in messages if message)
    return said or "the device could not be read"


def _identity(told: Untrusted, protocol: str) -> Identity:
    model = next(
        (text for name in ("model_name", "scsi_model_name", "product") if (text := told.at(name).text)),
        "",
    )
    serial, spins = told.at("serial_number").text, told.at("rotation_rate").number
    kind: Protocol = "NVMe" if protocol == "NVMe" else "ATA" if protocol == "ATA" else "SCSI"
    firmware = told.at("firmware_version").text or told.at("scsi_revision").text or told.at("revision").text
    return Identity(
        model=model,
        firmware=firmware,
        protocol=kind,
        capacity_bytes=told.at("user_capacity", "bytes").whole or told.at("nvme_total_capacity").whole,
        rotational=False if kind == "NVMe" else None if spins is None else spins > 0,
        key=drive_key(model, serial),
    )


def drive_key(model: str, serial: str) -> str:
    """A word that tells a drive from others, and does not tell its serial number."""
    if not serial:
        return ""
    return hashlib.sha256(f"{model}\n{serial}".encode()).hexdigest()[:16]


def drives_behind(machine: Machine, disks: list[Disk]) -> list[Disk]:
    """The drives behind MegaRAID controllers, as `smartctl --scan-open` lists them; none where there are none.

    The logical drives that such a controller shows as disks have no gauges of their own.
    """
    program = machine.program(NAME)
    if program is None or not any(is_megaraid(machine, disk) for disk in disks):
        return []
    said = machine.ask(program, "--json=c", "--scan")
    try:
        told = parse_json(said.output)
    except UnreadableError:
        return []
    first = next(disk for disk in disks if is_megaraid(machine, disk))
    found = []
    for line in told.at("devices").items():
        way, through = line.at("type").text, line.at("name").text
        if "megaraid" in way.split(",")[0] and through.startswith("/dev/"):
            found.append(Disk(first.name, one_line(way), through))
    return found


def is_megaraid(machine: Machine, disk: Disk) -> bool:
    """Whether a disk is what a controller of the driver megaraid_sas makes of its drives."""
    folder = machine.path(f"/sys/block/{disk.name}")
    try:
        names = folder.resolve(strict=True).parts
    except OSError:
        return False
    host = next((part for part in names if part.startswith("host") and part[4:].isdecimal()), None)
    return host is not None and machine.read(f"/sys/class/scsi_host/{host}/proc_name") == "megaraid_sas"
