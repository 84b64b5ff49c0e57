"""The users of a file or a block device: the kernel itself (a mount, swap, another device on it), or a program."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flatwater.errors import UserError
from flatwater.owned.mounted import read_mounts, unescape
from flatwater.place.devices import (
    Identity,
    backing_of,
    disk_of,
    identity_of,
    loops_on,
    number_of,
    partitions_of,
    sysfs_folder,
)
from flatwater.place.place import Place

#: Where the kernel lists swap (proc(5)).
SWAPS = Path("/proc/swaps")
#: `struct flock` of fcntl(2): type, whence, start, length, process.
FLOCK = "hhqqi"


@dataclass(frozen=True)
class Use:
    """A use of a place."""

    #: The use in words, and how to end it.
    told: str
    remedy: str


def require_unused(place: Place, where: str, *, claimed: bool = False) -> None:
    """Errors: UserError with the users of a place, if there are any. `claimed`: this process has claimed it already."""
    found = users(place, claimed=claimed)
    if found:
        told, remedies = "; ".join(use.told for use in found), dict.fromkeys(use.remedy for use in found)
        raise UserError(
            f"{place.path} is in use ({told}): it will not be written to",
            where=where,
            hint=f"{', '.join(remedies)} first, or choose another one",
        )


def users(place: Place, *, claimed: bool = False) -> list[Use]:
    """The other users of a place, and of all other places with the same bytes."""
    shared = dict(_shared(place.identity))
    found = [use for identity, whole in shared.items() for use in _direct(identity, whole, shared.keys())]
    return list(dict.fromkeys([*found, *([] if claimed else _locks(place))]))


def _shared(identity: Identity) -> Iterator[tuple[Identity, bool]]:
    """The places through which the bytes of a place can be reached, and whether all bytes of each belong to it.

    Not all bytes of the disk of a partition belong to the partition.
    """
    yield identity, True
    if identity[0] == "file":
        return
    backing = backing_of(identity)
    if backing is not None:
        yield from _shared(backing)
    disk = disk_of(identity)
    if disk is not None:
        yield from ((other, whole and other != disk) for other, whole in _shared(disk))


def _direct(identity: Identity, whole: bool, shared: Collection[Identity]) -> Iterator[Use]:
    """The users of a place itself and (for a whole disk) of its partitions. The places in `shared` are no users."""
    yield from _loops(identity, shared)
    if identity[0] == "file":
        yield from _swap_files(identity)
        return
    folders = [sysfs_folder(identity), *(partitions_of(identity) if whole else [])]
    names = {number_of(folder): f"/dev/{folder.name}" for folder in folders}
    for part in list(names)[1:]:
        yield from _loops(part, shared)
    for mount in read_mounts():
        # File systems such as btrfs have their own device number in this list, so the source is compared as well.
        major, minor = mount["device"].split(":")
        source = _device(mount["source"])
        name = names.get(("device", int(major), int(minor))) or (names.get(source) if source is not None else None)
        if name is not None:
            yield Use(f"{name} is mounted on {mount['target']}", f"unmount {mount['target']}")
    for path, _ in _swaps():
        if _device(path) in names:
            yield Use(f"{path} is swap", f"swapoff {path}")
    for folder in folders:
        holders = folder / "holders"
        for holder in sorted(holders.iterdir()) if holders.is_dir() else []:
            name = _holder_name(holder)
            yield Use(f"{name} is built on /dev/{folder.name}", f"take {name} apart")


def _loops(identity: Identity, shared: Collection[Identity]) -> Iterator[Use]:
    for loop in loops_on(identity):
        if _device(loop) not in shared:
            yield Use(f"{loop} is a loop device on it", f"losetup -d {loop}")


def _device(source: str) -> Identity | None:
    """The device of a path; None if it is none."""
    if not source.startswith("/"):
        return None
    try:
        found = identity_of(Path(source).stat())
    except (OSError, ValueError):
        return None
    return found if found is not None and found[0] == "device" else None


def _swap_files(identity: Identity) -> Iterator[Use]:
    for path, kind in _swaps():
        with suppress(OSError):  # it was removed, or is in another namespace
            if kind == "file" and identity_of(Path(path).stat()) == identity:
                yield Use("it is swap", f"swapoff {path}")


def _swaps() -> list[tuple[str, str]]:
    """The active swap areas: path, and `file` or `partition`."""
    try:
        lines = SWAPS.read_text(errors="surrogateescape").splitlines()[1:]
    except OSError:
        return []
    # The kernel writes spaces and the like as \040.
    return [(unescape(name), kind) for name, kind, *_ in (line.split() for line in lines)]


def _holder_name(holder: Path) -> str:
    """The usual name of a holder: a logical volume or an encrypted device has a name of its own, md0 has not."""
    try:
        return (holder / "dm/name").read_text().strip()
    except OSError:
        return holder.name


def _locks(place: Place) -> Iterator[Use]:
    """A program that has locked a file: a database server its data, a virtual machine its disk, a cache its devices."""
    try:
        descriptor = os.open(place.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        query = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, process = struct.unpack(FLOCK, fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, query))
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
        return
    finally:
        os.close(descriptor)
    if kind == fcntl.F_UNLCK:
        return
    # A lock of an open file has no process number (fcntl(2)).
    if process > 0:
        yield Use(f"process {process} ({_name_of(process)}) has locked it", "end that process")
    else:
        yield Use("a cache or another program has locked it", "end that (`flatwater cache status` tells of caches)")


def _name_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return "gone"
