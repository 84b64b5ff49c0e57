"""Mounts: the one that a path is on, and those inside a folder, which a deletion of the folder would reach."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from flatwater.errors import UserError

#: In each folder that flatwater made below a path of the user's: what it made in it (`Folder`).
LEDGER = "flatwater-owned.json"
#: The list of mounts of this process, and the field of the mount point in its lines (proc(5)).
_MOUNTS, _PLACE = Path("/proc/self/mountinfo"), 4
#: What lies in a data directory, whatever the server: the system tablespace, the redo log (MySQL since 8.0.30), undo
#: logs, Aria's own, the server's identity, RocksDB's files, and PostgreSQL's version.
_OF_SERVERS = (
    *("ibdata1", "ib_logfile0", "#innodb_redo", "undo_001", "aria_log_control", "mysql.ibd", "auto.cnf", "#rocksdb"),
    "PG_VERSION",
)
#: Files of tables (InnoDB, definitions up to 5.7, Aria, MyISAM) and of binary logs: what is in a folder of a schema, or
#: of logs, without the rest of a data directory.
_OF_TABLES = re.compile(r".+\.(ibd|frm|MAD|MAI|MYD|MYI)|.+-bin\.(index|\d{6})")


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
    """The mount of a path: `target`, `root`, `source`, `type`, `options`; {} if it cannot be found."""
    return _covering(read_mounts(), path.resolve()) or {}


def _covering(mounts: Iterable[dict[str, str]], real: Path) -> dict[str, str] | None:
    """The mount that a path without links is on; the last of equal mounts covers the others."""
    best = None
    for mount in mounts:
        covers = real.is_relative_to(mount["target"])
        if covers and (best is None or len(mount["target"]) >= len(best["target"])):
            best = mount
    return best


def read_mounts() -> list[dict[str, str]]:
    """Every mount of this process, from /proc/self/mountinfo, proc(5); with `device` as `major:minor`, and `root`, the
    folder of its file system that it shows.
    """
    mounts = []
    # Only spaces, tabs, newlines and backslashes are escaped. A name may contain other characters that Python treats as
    # white space.
    for line in Path("/proc/self/mountinfo").read_bytes().decode(errors="surrogateescape").rstrip("\n").split("\n"):
        before, _, after = line.partition(" - ")
        fields, (kind, source, super_options) = before.split(" "), after.split(" ", 2)
        mounts.append(
            {
                "device": fields[2],
                "root": unescape(fields[3]),
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
    names = _names_of(path)
    _refuse_servers(path, names, where)
    for real in names:
        for folder in (real, *real.parents):
            if os.path.lexists(folder / LEDGER):
                what = "is a folder that flatwater made" if folder == real else f"is in {folder}, which flatwater made"
                raise UserError(f"{path} {what}", where=where, hint="give a directory outside of it")


def require_no_data_directory(path: Path, where: str) -> None:
    """Refuses a place for new files in the data directory of a database server, or below one: the server takes each
    folder there for a database.

    Errors: UserError.
    """
    _refuse_servers(path, _names_of(path), where)


def _refuse_servers(path: Path, names: Iterable[Path], where: str) -> None:
    for real in names:
        for folder in (real, *real.parents):
            found = next((name for name in _OF_SERVERS if os.path.lexists(folder / name)), None)
            if found is not None:
                what = "is" if folder == real else f"lies in {folder}, which is"
                raise _of_a_server(f"{path} {what} the data directory of a database server", found, where)
        found = next((name for name in _names_in(real) if _OF_TABLES.fullmatch(name)), None)
        if found is not None:
            raise _of_a_server(f"{path} has files of a database server", found, where)


def _of_a_server(what: str, found: str, where: str) -> UserError:
    hint = "give a directory of its own, beside the data directory"
    return UserError(f"{what} ({found} is there)", where=where, hint=hint)


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _names_of(path: Path) -> list[Path]:
    """The path without links, and the other paths to the same place: a bind mount shows a folder without those above
    it.
    """
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):
        return []  # no name of a file, or a circle of links: who opens it says so
    mounts = read_mounts()
    own = _covering(mounts, real)
    if own is None:
        return [real]
    within = Path(own["root"]) / real.relative_to(own["target"])
    others = []
    for mount in mounts:
        if mount["device"] == own["device"] and within.is_relative_to(mount["root"]):
            other = Path(mount["target"]) / within.relative_to(mount["root"])
            # Another mount may cover it.
            if other != real and _covering(mounts, other) is mount:
                others.append(other)
    return [real, *others]


def is_one_place(one: Path, other: Path) -> bool:
    """Whether two paths lead to one folder, or would if it was made: through links, `..` and bind mounts, too."""
    return bool({*_names_of(one)} & {*_names_of(other)})


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
