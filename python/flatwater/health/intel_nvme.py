"""What Intel's and Solidigm's NVMe drives tell besides: their log page CAh counts what was written to the flash.

Layout: nvme-cli, plugins/intel (struct nvme_additional_smart_log): entries of 12 bytes with a key, a normalised value
and 6 bytes of raw value. Bytes are counted in pieces of 32 MiB. Only drives of these makers are asked.
"""

from __future__ import annotations

from flatwater.health.disks import Disk, character_device
from flatwater.health.drive import Gauges
from flatwater.health.machine import Machine
from flatwater.health.nvme_ioctl import read_page
from flatwater.health.nvme_log import whole

LOG_ID, LOG_BYTES = 0xCA, 512
#: PCI numbers of Intel and Solidigm.
_VENDORS = ("0x8086", "0x025e")
_ENTRY_BYTES, _KEY, _RAW, _RAW_BYTES = 12, 0, 5, 6
_NAND_WRITTEN = 0xF4
_STEP_BYTES = 32.0 * 2**20


def read_intel(machine: Machine, disk: Disk) -> tuple[Gauges | None, str]:
    """The gauges of the page; and why there are none."""
    controller = character_device(machine, disk).name
    if machine.read(f"/sys/class/nvme/{controller}/device/vendor") not in _VENDORS:
        return None, ""
    data, trouble = read_page(machine, disk, LOG_ID, LOG_BYTES)
    return (decode_intel(data), "") if not trouble else (None, trouble)


def decode_intel(data: bytes | bytearray) -> Gauges | None:
    """The gauges of the page's bytes; None for a page without the entry, or in which it counts nothing."""
    for offset in range(0, len(data) - _ENTRY_BYTES + 1, _ENTRY_BYTES):
        if data[offset + _KEY] == _NAND_WRITTEN:
            pieces = whole(data, offset + _RAW, _RAW_BYTES)
            # A drive that keeps no count has 0, or all ones.
            if 0 < pieces < 2 ** (8 * _RAW_BYTES) - 1:
                return Gauges(nand_written_bytes=pieces * _STEP_BYTES, nand_step_bytes=_STEP_BYTES)
            return None
    return None
