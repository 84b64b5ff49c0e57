"""A file or a block device of the user's: what it is, who uses it, what is on it, and claiming it.

Nothing is ever written to a place before all of this was asked.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flatwater.errors import UserError
from flatwater.probe.disk import read_mounts

#: BLKGETSIZE64, linux/fs.h.
_BLKGETSIZE64 = 0x80081272
#: What is looked at of a device on which no program finds anything known.
_LOOKED_AT_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Place:
    """A file or a block device."""

    #: With all links followed: what it is called in messages and kept in mind as.
    path: Path
    kind: str  # "file" or "device"
    bytes: int
    #: What it stands on: itself, the file of a loop device, the disk of a partition, a mapper's parts. Two places
    #: that have one in common are, in part, the same storage.
    stands_on: frozenset[tuple[str, int, int]]
    #: Itself.
    identity: tuple[str, int, int]

    @property
    def is_device(self) -> bool:
        return self.kind == "device"


def open_place(path: str | Path, where: str) -> Place | None:
    """Looks at a place; None if there is nothing.

    Errors: UserError for what is neither a file nor a block device, and for what may not be read and written.
    """
    try:
        real = Path(os.path.realpath(path))
        info = real.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise UserError(f"cannot use {path}: {getattr(error, 'strerror', None) or error}", where=where) from None
    if stat.S_ISREG(info.st_mode):
        kind, identity = "file", ("file", info.st_dev, info.st_ino)
    elif stat.S_ISBLK(info.st_mode):
        kind, identity = "device", ("device", os.major(info.st_rdev), os.minor(info.st_rdev))
    else:
        raise UserError(f"{path} is neither a file nor a block device", where=where, hint="give one of them")
    try:
        handle = os.open(real, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        hint = "run as a user who may write to it" if error.errno in (errno.EACCES, errno.EPERM) else None
        if error.errno == errno.EROFS or (kind == "device" and _is_read_only(identity)):
            hint = "mount it writable, or blockdev --setrw"
        raise UserError(f"{path} cannot be written: {error.strerror}", where=where, hint=hint) from None
    try:
        size = info.st_size if kind == "file" else _device_bytes(handle)
    finally:
        os.close(handle)
    if kind == "device" and _is_read_only(identity):
        raise UserError(f"{path} is read-only", where=where, hint=f"blockdev --setrw {path}")
    return Place(real, kind, size, frozenset(_chain(identity)), identity)


def _device_bytes(handle: int) -> int:
    answer = fcntl.ioctl(handle, _BLKGETSIZE64, bytes(8))
    return int.from_bytes(answer, "little")


def _folder(identity: tuple[str, int, int]) -> Path:
    return Path(f"/sys/dev/block/{identity[1]}:{identity[2]}").resolve()


def _is_read_only(identity: tuple[str, int, int]) -> bool:
    try:
        return (_folder(identity) / "ro").read_text().strip() == "1"
    except OSError:
        return False


def _number(folder: Path) -> tuple[str, int, int]:
    major, minor = (folder / "dev").read_text().strip().split(":")
    return "device", int(major), int(minor)


def _chain(identity: tuple[str, int, int]) -> Iterator[tuple[str, int, int]]:
    """A place and what it stands on. A partition's part of the disk is its own: it does not stand on all of it."""
    yield identity
    if identity[0] == "file":
        return
    folder = _folder(identity)
    backing = folder / "loop/backing_file"
    if backing.exists():
        try:
            info = os.stat(backing.read_text().rstrip("\n"))  # noqa: PTH116 - what sysfs gives is text
        except OSError:
            return
        if stat.S_ISBLK(info.st_mode):
            yield from _chain(("device", os.major(info.st_rdev), os.minor(info.st_rdev)))
        else:
            yield "file", info.st_dev, info.st_ino
    for below in sorted((folder / "slaves").iterdir()) if (folder / "slaves").is_dir() else []:
        yield from _chain(_number(below))


def _disk_of(identity: tuple[str, int, int]) -> tuple[str, int, int] | None:
    """The disk that a partition is of."""
    if identity[0] == "file":
        return None
    folder = _folder(identity)
    return _number(folder.parent) if (folder / "partition").exists() else None


def overlap(one: Place, other: Place) -> str | None:
    """How two places are the same storage, in words; None if they are not."""
    if one.identity == other.identity:
        return f"{one.path} and {other.path} are the same {one.kind}"
    if one.stands_on & other.stands_on:
        return f"{one.path} and {other.path} stand on the same storage"
    for whole, part in ((one, other), (other, one)):
        if any(_disk_of(below) in whole.stands_on for below in part.stands_on):
            return f"{part.path} is a part of {whole.path}"
    return None


def users(place: Place) -> list[str]:
    """Who uses a place, in words: mounts, swap, devices built on it, loop devices. Empty: nobody does."""
    found = [f"{name} is a loop device on it" for name in loops_on(place)]
    swaps = [line.split() for line in Path("/proc/swaps").read_text().splitlines()[1:]]
    if place.kind == "file":
        return found + [f"{path} is swap" for path, kind, *_ in swaps if kind == "file" and _is_same(path, place)]
    folder = _folder(place.identity)
    parts = [folder, *(part.parent for part in folder.glob("*/partition"))]
    numbers = {"{}:{}".format(*_number(part)[1:]): f"/dev/{part.name}" for part in parts}
    names = set(numbers.values())
    for mount in read_mounts():
        # btrfs and the like mount with a device number of their own: their source tells.
        if mount["device"] in numbers or _device_name(mount["source"]) in names:
            name = numbers.get(mount["device"], mount["source"])
            found.append(f"{name} is mounted on {mount['target']}")
    found += [f"{path} is swap" for path, *_ in swaps if _device_name(path) in names]
    for part in parts:
        holders = part / "holders"
        for holder in sorted(holders.iterdir()) if holders.is_dir() else []:
            found.append(f"{_holder_name(holder)} is built on /dev/{part.name}")
    return found


def _device_name(source: str) -> str:
    return os.path.realpath(source) if source.startswith("/dev/") else source


def _holder_name(holder: Path) -> str:
    """A holder as people know it: a logical volume or an encrypted device by its own name, md0 as it is."""
    try:
        return (holder / "dm/name").read_text().strip()
    except OSError:
        return holder.name


def _is_same(path: str, place: Place) -> bool:
    try:
        info = os.stat(path)  # noqa: PTH116 - a path that proc gives
    except OSError:
        return False
    return ("file", info.st_dev, info.st_ino) == place.identity


def loops_on(place: Place) -> list[str]:
    """Loop devices that stand on a place directly."""
    return loops_of(place.identity)


def loops_of(identity: tuple[str, int, int]) -> list[str]:
    """The same of what a place is: of a file, `("file", st_dev, st_ino)`."""
    found = []
    for backing in sorted(Path("/sys/block").glob("loop*/loop/backing_file")):
        device = backing.parent.parent
        with_number = next((one for one in list(_chain(_number(device)))[1:2]), None)
        if with_number == identity:
            found.append(f"/dev/{device.name}")
    return found


def contents(place: Place) -> str | None:
    """What is on a place, in words, as `blkid -p` tells; None if there is nothing to lose."""
    told = _probe(place.path)
    if told:
        kind = told.get("TYPE") or (f"a {told['PTTYPE']} partition table" if "PTTYPE" in told else None)
        if kind is not None:
            about = [f'{name} "{told[key]}"' for name, key in (("label", "LABEL"), ("UUID", "UUID")) if key in told]
            kind = kind if kind.startswith("a ") else f"{kind} ({told.get('USAGE', 'known')})"
            return ", ".join([kind, *about])
    if place.bytes == 0 or not _has_data(place):
        return None
    return "data of an unknown kind"


def _probe(path: Path) -> dict[str, str]:
    try:
        ran = subprocess.run(["blkid", "-p", "-o", "export", str(path)], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    # Whatever stands in a label is text of a stranger's.
    pairs = (line.partition("=") for line in ran.stdout.splitlines() if line.isprintable())
    return {name: value.replace("\\", "") for name, equals, value in pairs if equals}


def _has_data(place: Place) -> bool:
    """Whether anything but zeros may be there: a hole, or space that was only reserved, holds nothing."""
    with place.path.open("rb") as handle:
        if place.kind == "file":
            try:
                os.lseek(handle.fileno(), 0, os.SEEK_DATA)
            except OSError as error:
                return error.errno != errno.ENXIO
            return True
        for at in (0, max(0, place.bytes - _LOOKED_AT_BYTES)):
            handle.seek(at)
            if any(handle.read(_LOOKED_AT_BYTES)):
                return True
    return False


def claim(place: Place, where: str) -> int:
    """Claims a place for this process and those that it hands the descriptor to, among flatwaters: by a lock of the
    open file (fcntl(2), OFD), which is not in the way of the claim that the serving child makes itself.

    Errors: UserError when somebody has it; of a device the kernel has the last word, also on what leaves no trace.
    """
    try:
        if place.is_device:
            os.close(os.open(place.path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC))
        handle = os.open(place.path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        what = "is in use: the kernel says that something holds it" if error.errno == errno.EBUSY else error.strerror
        raise UserError(f"{place.path}: {what}", where=where, hint="find out with lsblk, and let it go") from None
    try:
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    except OSError:
        os.close(handle)
        raise UserError(
            f"{place.path} is in use by another flatwater", where=where, hint="`flatwater cache status` tells by which"
        ) from None
    return handle


def require_unused(place: Place, where: str) -> None:
    """Errors: UserError that names who uses it."""
    found = users(place)
    if found:
        raise UserError(
            f"{place.path} is in use ({'; '.join(found)})", where=where, hint="let it go first, or give another one"
        )


def require_space(place_folder: Path, bytes_: int, where: str) -> None:
    """A sparse file that cannot grow fails when it is full of dirty data: too late. Errors: UserError."""
    free = os.statvfs(place_folder)
    if bytes_ > free.f_bavail * free.f_frsize:
        from flatwater.experiment.units import print_size

        told = (
            f"{print_size(bytes_)} are more than the {print_size(free.f_bavail * free.f_frsize)} free in {place_folder}"
        )
        raise UserError(told, where=where, hint="a smaller --size, or another place")
