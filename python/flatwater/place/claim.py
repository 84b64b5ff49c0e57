"""Claiming a file or a block device, before anything is written to it."""

from __future__ import annotations

import errno
import fcntl
import os
import struct

from flatwater.errors import UserError
from flatwater.place.place import Place
from flatwater.place.users import FLOCK


def claim(place: Place, where: str, *, alone: bool = False) -> int:
    """Claims a place until the descriptor is closed.

    The claim is a lock of the open file (fcntl(2), OFD): other processes of flatwater and other programs that lock
    files respect it, and a process that inherits the descriptor has it, too. For a device the kernel decides as well
    (O_EXCL). It knows of users that leave no other trace, such as a second member of a mounted btrfs. With `alone` the
    kernel also refuses to mount the device during the claim; without it, a child process may make that claim. Errors:
    UserError if the place is in use.
    """
    try:
        exclusive = os.O_EXCL if place.is_device else 0
        handle = os.open(place.path, os.O_RDWR | exclusive | os.O_CLOEXEC)
        if exclusive and not alone:
            os.close(handle)
            handle = os.open(place.path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        held = error.errno == errno.EBUSY
        what = "is in use (the kernel says that something holds it): it will not be written to"
        raise UserError(
            f"{place.path} {what}" if held else f"{place.path}: {error.strerror}",
            where=where,
            hint="lsblk shows what holds it: let it go, or choose another one" if held else None,
        ) from None
    try:
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    except OSError:
        os.close(handle)
        raise UserError(
            f"{place.path} is in use by another flatwater", where=where, hint="`flatwater cache status` tells by which"
        ) from None
    return handle
