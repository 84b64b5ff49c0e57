"""A file or a block device: its identity, and whether it shares storage with another one."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from flatwater.errors import UserError
from flatwater.place.devices import Identity, chain, device_bytes, disk_of, identity_of, is_read_only


@dataclass(frozen=True)
class Place:
    """A file or a block device."""

    #: With all links followed.
    path: Path
    kind: str  # "file" or "device"
    bytes: int
    #: Itself and all below it: the file of a loop device, the parts of a mapper. Two places with one in common share
    #: storage.
    stands_on: frozenset[Identity]
    #: The identity of the place itself.
    identity: Identity

    @property
    def is_device(self) -> bool:
        """Whether this is a block device, as opposed to a regular file."""
        return self.kind == "device"


def look_at(path: str | Path, where: str) -> Place | None:
    """The place of a path, which is not opened; None if there is nothing.

    Errors: UserError if it is neither a file nor a block device.
    """
    try:
        real = Path(os.path.realpath(path))
        info = real.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise UserError(f"cannot use {path}: {getattr(error, 'strerror', None) or error}", where=where) from None
    identity = identity_of(info)
    if identity is None:
        raise UserError(f"{path} is neither a file nor a block device", where=where, hint="give one of them")
    size = info.st_size if identity[0] == "file" else device_bytes(identity)
    return Place(real, identity[0], size, frozenset(chain(identity)), identity)


def open_place(path: str | Path, where: str) -> Place | None:
    """As `look_at`, with a check that it can be read and written. Errors: UserError."""
    place = look_at(path, where)
    if place is None:
        return None
    try:
        os.close(os.open(place.path, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        hint = "run as a user who may write to it" if error.errno in (errno.EACCES, errno.EPERM) else None
        if error.errno == errno.EROFS or (place.is_device and is_read_only(place.identity)):
            hint = "mount it writable, or blockdev --setrw"
        raise UserError(f"{path} cannot be written: {error.strerror}", where=where, hint=hint) from None
    if place.is_device and is_read_only(place.identity):
        raise UserError(f"{path} is read-only", where=where, hint=f"blockdev --setrw {path}")
    return place


def overlap(one: Place, other: Place) -> str | None:
    """How two places share storage, in words; None if they do not."""
    if one.identity == other.identity:
        return f"{one.path} and {other.path} are the same {one.kind}"
    if one.stands_on & other.stands_on:
        return f"{one.path} and {other.path} stand on the same storage"
    for whole, part in ((one, other), (other, one)):
        if any(disk_of(below) in whole.stands_on for below in part.stands_on):
            return f"{part.path} is a part of {whole.path}"
    return None


def require_space(place_folder: Path, bytes_: int, where: str) -> None:
    """Errors: UserError if the file system has less free space. A sparse file would fail later, full of dirty data."""
    free = os.statvfs(place_folder)
    if bytes_ > free.f_bavail * free.f_frsize:
        # Imported here only: this import takes longer than a cache takes to start.
        from flatwater.experiment.units import print_size

        what = (
            f"{print_size(bytes_)} are more than the {print_size(free.f_bavail * free.f_frsize)} free in {place_folder}"
        )
        raise UserError(what, where=where, hint="a smaller --size, or another place")
