"""A block device that a workload may be given: who uses it, what is on it, and claiming it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from flatwater.errors import UserError
from flatwater.probe.disk import read_mounts


def folder_of(path: Path) -> Path:
    """Its folder in sysfs."""
    number = path.stat().st_rdev
    return Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()


def claim(path: Path) -> int:
    """Claims a block device for this process alone, before anything is written to it and until the run ends.

    The kernel refuses it if anything holds the device (also what leaves no trace to look for, like a second member of a
    mounted btrfs), and refuses to mount it meanwhile. Errors: UserError.
    """
    try:
        return os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        held = error.errno == errno.EBUSY
        what = "is in use (the kernel says that something holds it): it will not be written to"
        raise UserError(
            f"{path} {what}" if held else f"{path}: {error.strerror}",
            where="storage.path",
            hint="unmount what is on it, or choose another device",
        ) from None


def users(folder: Path) -> list[str]:
    """What uses a block device or one of its partitions, in words: mounts, swap, other devices on top of it."""
    parts = [folder, *(part.parent for part in folder.glob("*/partition"))]
    numbers = {part.joinpath("dev").read_text().strip(): part.name for part in parts if (part / "dev").exists()}
    found = [
        f"/dev/{numbers[mount['device']]} is mounted on {mount['target']}"
        for mount in read_mounts()
        if mount["device"] in numbers
    ]
    names = {f"/dev/{part.name}" for part in parts}
    # btrfs and the like mount with an anonymous device number: their source tells.
    found += [
        f"{mount['source']} is mounted on {mount['target']}"
        for mount in read_mounts()
        if mount["source"] in names and mount["device"] not in numbers
    ]
    swaps = Path("/proc/swaps").read_text().splitlines()[1:]
    found += [f"{line.split()[0]} is swap" for line in swaps if line.split()[0] in names]
    for part in parts:
        holders = part / "holders"
        found += [f"{holder.name} is built on it" for holder in holders.iterdir()] if holders.exists() else []
    return found


#: Where a file system's magic number stands: (name, offset, bytes). From each one's on-disk format.
_SIGNATURES = (
    ("ext2/3/4", 1080, b"\x53\xef"),
    ("XFS", 0, b"XFSB"),
    ("btrfs", 65600, b"_BHRfS_M"),
    ("LVM", 536, b"LVM2 001"),
    ("LUKS", 0, b"LUKS\xba\xbe"),
    ("NTFS", 3, b"NTFS"),
    ("swap", 4086, b"SWAPSPACE2"),
    ("a partition table", 510, b"\x55\xaa"),
)


def contents(path: Path) -> str:
    """What is on it, to end a sentence with; empty if nothing known is."""
    try:
        with path.open("rb") as handle:
            head = handle.read(65664)
    except OSError:
        return ""
    found = [name for name, at, magic in _SIGNATURES if head[at : at + len(magic)] == magic]
    return f", holds {found[0]}" if found else ""
