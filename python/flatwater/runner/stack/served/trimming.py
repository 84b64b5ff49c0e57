"""The free space of a mounted file system is given back to its device, as far as asked."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from flatwater.errors import FlatwaterError, Interrupted
from flatwater.experiment import print_size

#: _IOWR('X', 121, struct fstrim_range) of Linux's <linux/fs.h>: start, length and shortest extent, in bytes. The kernel
#: replaces the length by the bytes that it trimmed.
_FITRIM, _RANGE = 0xC0185879, struct.Struct("QQQ")
#: A device is trimmed from its end in this many steps, until it holds as little as asked.
_STEPS = 512
_BLOCK = 4096


def trim_free_space(folder: Path, device_bytes: int, held_bytes: int | None, stop: Callable[[], bool]) -> None:
    """Trims free space from the end of the device, until it holds at most `held_bytes`; None: all free space.

    Everything that is not trimmed counts as held, because it may have been written once. Errors: FlatwaterError if the
    used blocks alone are more than that, or the file system cannot trim; Interrupted.
    """
    if held_bytes is not None and held_bytes >= device_bytes:
        return
    # Blocks of deleted files are free when the journal is written, and those of new files are chosen by then.
    subprocess.run(["sync", "--file-system", str(folder)], check=False)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if held_bytes is None:
            # A kernel whose loop devices cannot trim leaves the device as it is.
            with suppress(OSError):
                _trim(descriptor, 0, device_bytes)
            return
        # A power of two, so that no step is in two block groups.
        excess, step = device_bytes - held_bytes, 1 << max(_BLOCK, device_bytes // _STEPS).bit_length() - 1
        counted = _Newly(step, os.fstatvfs(descriptor).f_bsize)
        for begin in range((device_bytes - 1) // step * step, -1, -step):
            if stop():
                raise Interrupted("interrupted while the device was being trimmed")
            excess -= counted.of(begin, _trim(descriptor, begin, step))
            if excess <= 0:
                return
    except OSError as error:
        raise FlatwaterError(f"cannot trim {folder}: {error.strerror}", where="storage.file_system") from None
    finally:
        os.close(descriptor)
    if excess > step:
        what = f"the file system and the data take {print_size(held_bytes + excess)} of the device, more than asked"
        raise FlatwaterError(what, where="storage.occupied_pct", hint="a larger share, or a larger capacity_scale")


class _Newly:
    """Of the bytes that each step trimmed, those that no step before it did.

    Linux 6.18 trims ext4 from the begin of a range to the end of its block group, whatever the length is. So a step
    trims, and counts, what the steps behind it in the group did.
    """

    def __init__(self, step: int, block_bytes: int) -> None:
        self._step = step
        #: One block is the bitmap of a group (Documentation/filesystems/ext4/blockgroup.rst of Linux).
        self._group = 8 * block_bytes**2
        self._goes_on, self._before = False, 0

    def of(self, begin: int, trimmed: int) -> int:
        """The steps come from the end of the device to its begin."""
        self._goes_on |= trimmed > self._step
        if (begin + self._step) % self._group == 0:
            self._before = 0
        before, self._before = self._before, trimmed
        return max(0, trimmed - before) if self._goes_on else trimmed


def _trim(descriptor: int, offset: int, length: int) -> int:
    """Trims the free space of a range; the bytes that were trimmed."""
    given = bytearray(_RANGE.pack(offset, length, _BLOCK))
    try:
        fcntl.ioctl(descriptor, _FITRIM, given)
    except OSError as error:
        # A range behind the end of the file system, which may be a little smaller than its device.
        if error.errno == errno.EINVAL and offset > 0:
            return 0
        raise
    return int(_RANGE.unpack(given)[1])
