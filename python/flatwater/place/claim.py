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
    """Claims a place until the descriptor is closed, among flatwaters and whoever else locks files: by a lock of the
    open file (fcntl(2), OFD), which those that the descriptor is handed to have too.

    Of a device the kernel has the last word, also on what leaves no trace, like a second member of a mounted btrfs.
    With `alone` it refuses to mount the device, too, for as long as the claim lasts; without, a child may make that
    claim. Errors: UserError when somebody has it.
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
