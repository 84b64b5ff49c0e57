"""NVMe's log pages through the kernel, where neither smartctl nor nvme-cli is installed. Needs the right to do so.

The commands: NVM Express Base Specification 2.0, Get Log Page; the ioctl: linux/nvme_ioctl.h. They only read.
"""

from __future__ import annotations

import ctypes
import struct

from flatwater.health.disks import Disk, character_device
from flatwater.health.machine import Machine

NAME = "ioctl"
#: NVME_IOCTL_ADMIN_CMD: _IOWR('N', 0x41, struct nvme_admin_cmd), which has 72 bytes.
ADMIN_COMMAND, COMMAND_BYTES = 0xC0484E41, 72
GET_LOG_PAGE = 0x02
#: The log of the whole drive, not of one namespace.
_ALL_NAMESPACES = 0xFFFFFFFF
_PATIENCE_MS = 10_000
#: struct nvme_passthru_cmd: opcode, flags, reserved; nsid; cdw2, cdw3; metadata, address; lengths; cdw10 to cdw15;
#: patience; result.
COMMAND = "<BBHIIIQQIIIIIIIIII"


def read_page(machine: Machine, disk: Disk, page: int, length: int) -> tuple[bytes, str]:
    """A log page; and why it could not be read, empty where it could."""
    answer = ctypes.create_string_buffer(length)
    words = length // 4 - 1
    command = bytearray(
        struct.pack(
            COMMAND,
            GET_LOG_PAGE,
            0,
            0,
            _ALL_NAMESPACES,
            0,
            0,
            0,
            ctypes.addressof(answer),
            0,
            length,
            (words & 0xFFFF) << 16 | page,
            words >> 16,
            0,
            0,
            0,
            0,
            _PATIENCE_MS,
            0,
        )
    )
    trouble = machine.control(character_device(machine, disk), ADMIN_COMMAND, command)
    return (b"", trouble) if trouble else (answer.raw, "")
