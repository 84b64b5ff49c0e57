"""The log page C0h of drives for data centres: what was written to the flash, and how much of that it is made for.

Open Compute Project, Datacenter NVMe SSD Specification 2.0, 4.8.6: SMART / Health Information Extended. Units are
bytes. The page is a vendor's own number, so that only the one with the specification's identifier is believed.
"""

from __future__ import annotations

from flatwater.health.disks import Disk
from flatwater.health.drive import Gauges
from flatwater.health.machine import Machine
from flatwater.health.nvme_ioctl import read_page
from flatwater.health.nvme_log import whole
from flatwater.health.untrusted import UnreadableError, Untrusted, parse_json

LOG_ID, LOG_BYTES = 0xC0, 512
#: The log page's identifier AFD514C97C6F4F9CA4F2BFEA2810AFC5h, least significant byte first.
IDENTIFIER = bytes.fromhex("c5af1028eabff2a49c4f6f7cc914d5af")
#: What nvme-cli prints of it, with or without zeros in front.
_IDENTIFIER_TEXT = IDENTIFIER[::-1].hex()
_HI = 2**64


def read_ocp(machine: Machine, disk: Disk) -> tuple[Gauges | None, str]:
    """The gauges of the page, through nvme-cli or the kernel; and why there are none."""
    program = machine.program("nvme")
    why = "nvme-cli is not installed"
    if program is not None:
        said = machine.ask(program, "ocp", "smart-add-log", disk.path, "--output-format=json")
        why = said.trouble or (f"nvme ocp ended with {said.code}" if said.code else "")
        if not why:
            try:
                found = read_ocp_json(parse_json(said.output))
            except UnreadableError as error:
                found, why = None, str(error)
            if found is not None:
                return found, ""
    data, trouble = read_page(machine, disk, LOG_ID, LOG_BYTES)
    if trouble:
        return None, trouble if program is None else why or trouble
    found = decode_ocp(data)
    return (found, "") if found is not None else (None, "the drive has no OCP log page C0h")


def decode_ocp(data: bytes | bytearray) -> Gauges | None:
    """The gauges of the page's bytes; None for a page of another specification."""
    if len(data) < LOG_BYTES or bytes(data[496:512]) != IDENTIFIER:
        return None
    return _gauges(whole(data, 0, 16), whole(data, 176, 16), data[96], whole(data, 56, 8))


def read_ocp_json(told: Untrusted) -> Gauges | None:
    """The gauges of `nvme ocp smart-add-log -o json`, whose two formats differ in how they spell names."""
    named = {name.lower().replace(" ", "_"): value for name, value in told.entries()}
    identifier = named.get("log_page_guid", Untrusted()).text.lower().removeprefix("0x")
    if identifier and identifier.replace("-", "") not in (_IDENTIFIER_TEXT, _IDENTIFIER_TEXT.lstrip("0")):
        return None
    written = _long(named.get("physical_media_units_written", Untrusted()))
    if written is None:
        return None
    throttled = named.get("number_of_thermal_throttling_events", named.get("thermal_throttling_events", Untrusted()))
    errors = named.get("uncorrectable_read_error_count", named.get("uncorrectable_read_errors", Untrusted()))
    return _gauges(written, _long(named.get("endurance_estimate", Untrusted())), throttled.whole, errors.whole)


def _long(told: Untrusted) -> int | None:
    """A number of 128 bits, whole or in two halves."""
    high, low = told.at("hi").whole, told.at("lo").whole
    if high is not None and low is not None:
        return high * _HI + low
    return told.whole


def _gauges(written: int, endurance: int | None, throttled: int | None, errors: int | None) -> Gauges:
    return Gauges(
        nand_written_bytes=float(written),
        nand_step_bytes=1.0,
        # 0: the drive makes no promise.
        endurance_bytes=float(endurance) if endurance else None,
        throttle_events=None if throttled is None else float(throttled),
        media_errors=None if errors is None else float(errors),
    )
