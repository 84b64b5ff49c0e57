"""Block devices in sysfs: partitions, loop devices, and the devices and files below each of them."""

from __future__ import annotations

import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

#: A file or a block device, independent of its name: `("file", st_dev, st_ino)` or `("device", major, minor)`.
Identity = tuple[str, int, int]

#: sysfs counts sectors of 512 B, whatever the sectors of the device are.
_SECTOR_BYTES = 512
#: LOOP_GET_STATUS64 and the length of its `struct loop_info64`, linux/loop.h. The first three words are the device and
#: the inode of the backing file, and the number of a backing device.
_LOOP_GET_STATUS64, _LOOP_INFO_BYTES = 0x4C05, 232


def identity_of(info: os.stat_result) -> Identity | None:
    """The identity in the result of stat(2); None for what is neither a file nor a block device."""
    if stat.S_ISREG(info.st_mode):
        return "file", info.st_dev, info.st_ino
    if stat.S_ISBLK(info.st_mode):
        return "device", os.major(info.st_rdev), os.minor(info.st_rdev)
    return None


def sysfs_folder(device: Identity) -> Path:
    """A device's folder in sysfs."""
    return Path(f"/sys/dev/block/{device[1]}:{device[2]}").resolve()


def device_bytes(device: Identity) -> int:
    """The length of a block device. Errors: OSError."""
    return int((sysfs_folder(device) / "size").read_text()) * _SECTOR_BYTES


def is_read_only(device: Identity) -> bool:
    """Whether the kernel refuses to write to a device."""
    try:
        return (sysfs_folder(device) / "ro").read_text().strip() == "1"
    except OSError:
        return False


def number_of(folder: Path) -> Identity:
    """The device of a folder in sysfs. Errors: OSError."""
    major, minor = (folder / "dev").read_text().strip().split(":")
    return "device", int(major), int(minor)


def partitions_of(device: Identity) -> list[Path]:
    """The folders in sysfs of a disk's partitions."""
    return [found.parent for found in sorted(sysfs_folder(device).glob("*/partition"))]


def disk_of(identity: Identity) -> Identity | None:
    """The disk of a partition; None for what is no partition."""
    if identity[0] == "file":
        return None
    folder = sysfs_folder(identity)
    return number_of(folder.parent) if (folder / "partition").exists() else None


def backing_of(loop: Identity) -> Identity | None:
    """The file or device below a loop device; None if it is no loop device, or if the user may not see it."""
    folder = sysfs_folder(loop)
    if not (folder / "loop/backing_file").exists():
        return None
    # The inode is used, because the name in sysfs may be gone or lead to another file by now.
    with suppress(OSError):
        descriptor = os.open(f"/dev/{folder.name}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = fcntl.ioctl(descriptor, _LOOP_GET_STATUS64, bytes(_LOOP_INFO_BYTES))
        finally:
            os.close(descriptor)
        device, inode, number = struct.unpack_from("=QQQ", status)
        return ("device", os.major(number), os.minor(number)) if number else ("file", device, inode)
    with suppress(OSError):
        return identity_of(Path((folder / "loop/backing_file").read_text().rstrip("\n")).stat())
    return None


def loops_on(identity: Identity) -> list[str]:
    """The loop devices directly above a file or a device."""
    found = []
    for backing in sorted(Path("/sys/block").glob("loop*/loop/backing_file")):
        device = backing.parent.parent
        with suppress(OSError):  # it was detached meanwhile
            if backing_of(number_of(device)) == identity:
                found.append(f"/dev/{device.name}")
    return found


def chain(identity: Identity) -> Iterator[Identity]:
    """A file or a device, and those below it. The disk of a partition is not below it, because the partition has only a
    part of it.
    """
    yield identity
    if identity[0] == "file":
        return
    backing = backing_of(identity)
    if backing is not None:
        yield from chain(backing)
    slaves = sysfs_folder(identity) / "slaves"
    for below in sorted(slaves.iterdir()) if slaves.is_dir() else []:
        yield from chain(number_of(below))
