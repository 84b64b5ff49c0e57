"""Mounts: the one that a path is on, and those inside a folder, which a deletion of the folder would reach."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from flatwater.errors import UserError

#: In each folder that flatwater made below a path of the user's: what it made in it (`Folder`).
LEDGER = "flatwater-owned.json"
#: The list of mounts of this process, and the field of the mount point in its lines (proc(5)).
_MOUNTS, _PLACE = Path("/proc/self/mountinfo"), 4
#: What lies in a data directory, whatever the server: the system tablespace, the redo log (MySQL since 8.0.30), and
#: MyISAM's or Aria's own.
_OF_SERVERS = ("ibdata1", "ib_logfile0", "#innodb_redo", "aria_log_control", "mysql.ibd")


def unescape(name: str) -> str:
    """A name from /proc, which has blanks, line ends and backslashes as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), name)


def mounted_below(folder: int) -> str | None:
    """A mount point on or below an open folder, if there is one.

    A bind mount can have the device number of the folder that it covers, so the kernel's list is read. Errors: OSError.
    """
    path = os.readlink(f"/proc/self/fd/{folder}")
    for line in _MOUNTS.read_bytes().decode(errors="surrogateescape").rstrip("\n").split("\n"):
        place = unescape(line.split(" ")[_PLACE])
        if place == path or place.startswith(f"{path}/"):
            return place
    return None


def find_block_device(path: Path) -> tuple[int, int] | None:
    """(major, minor) of the device under a file, or of the device itself; None for file systems without a device.

    btrfs and overlays give files an anonymous device number. The source of their mount is then used.
    """
    try:
        info = path.stat()
    except OSError:
        return None
    number = info.st_rdev if stat.S_ISBLK(info.st_mode) else info.st_dev
    if os.major(number) != 0:
        return os.major(number), os.minor(number)
    source = mount_of(path).get("source", "")
    try:
        info = Path(source).stat()
    except OSError:
        return None
    return (os.major(info.st_rdev), os.minor(info.st_rdev)) if stat.S_ISBLK(info.st_mode) else None


def mount_of(path: Path) -> dict[str, str]:
    """The mount of a path: `target`, `source`, `type`, `options`; {} if it cannot be found."""
    best: dict[str, str] = {}
    real = path.resolve()
    for mount in read_mounts():
        target = Path(mount["target"])
        # The last of equal mounts covers the others.
        if (real == target or target in real.parents) and len(mount["target"]) >= len(best.get("target", "")):
            best = mount
    return best


def read_mounts() -> list[dict[str, str]]:
    """Every mount of this process, from /proc/self/mountinfo, proc(5); with `device` as `major:minor`."""
    mounts = []
    # Only spaces, tabs, newlines and backslashes are escaped. A name may contain other characters that Python treats as
    # white space.
    for line in Path("/proc/self/mountinfo").read_bytes().decode(errors="surrogateescape").rstrip("\n").split("\n"):
        before, _, after = line.partition(" - ")
        fields, (kind, source, super_options) = before.split(" "), after.split(" ", 2)
        mounts.append(
            {
                "device": fields[2],
                "target": unescape(fields[4]),
                "type": kind,
                "source": unescape(source),
                "options": f"{fields[5]},{super_options}",
            }
        )
    return mounts


def require_free_place(path: Path, where: str) -> None:
    """Refuses a place of the user's for new files that belongs to somebody: the data directory of a database server, or
    a folder that flatwater made, in which it would later delete them.

    Errors: UserError.
    """
    require_no_data_directory(path, where)
    real = path.resolve()
    for folder in (real, *real.parents):
        if (folder / LEDGER).is_file():
            what = "is a folder that flatwater made" if folder == real else f"lies in {folder}, which flatwater made"
            raise UserError(f"{path} {what}", where=where, hint="give a directory outside of it")


def require_no_data_directory(path: Path, where: str) -> None:
    """Refuses a place for new files in the data directory of a database server, or below one: the server takes each
    folder there for a database.

    Errors: UserError.
    """
    real = path.resolve()
    for folder in (real, *real.parents):
        found = next((name for name in _OF_SERVERS if (folder / name).exists()), None)
        if found is not None:
            what = "is" if folder == real else f"lies in {folder}, which is"
            raise UserError(
                f"{path} {what} the data directory of a database server ({found} is there)",
                where=where,
                hint="give a directory of its own, beside the data directory",
            )


def require_no_device_folder(path: Path, where: str) -> None:
    """Refuses a place among the devices that is not a device: a mistyped name would become a file in memory.

    Errors: UserError.
    """
    real = path.resolve()
    mount = mount_of(real if real.exists() else real.parent)
    if mount.get("type") == "devtmpfs" or (real.is_relative_to("/dev") and mount.get("target") in ("/dev", "/")):
        raise UserError(
            f"{path} is no block device: a file there would be in memory",
            where=where,
            hint="lsblk shows the devices; files go to a directory of a file system",
        )
