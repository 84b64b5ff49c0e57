"""The files and block devices that the engine may write to."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass


@dataclass(frozen=True)
class Identity:
    """The identity of a file or a block device, independent of its name: `Identity` of crates/real/src/permit.rs."""

    #: The device number of the file system, or of the block device itself.
    device: int
    #: None for a block device.
    inode: int | None

    @classmethod
    def of(cls, info: os.stat_result) -> Identity:
        """The identity in the result of stat(2)."""
        return cls(info.st_rdev, None) if stat.S_ISBLK(info.st_mode) else cls(info.st_dev, info.st_ino)


@dataclass(frozen=True)
class Permit:
    """Files and block devices that may be written.

    Only the code that has checked them makes a permit. Without it the engine opens them read-only. With it the engine
    refuses a name that leads to another file by then.
    """

    files: tuple[Identity, ...]

    @classmethod
    def of(cls, descriptor: int) -> Permit:
        """A permit for one open file. Errors: OSError."""
        return cls((Identity.of(os.fstat(descriptor)),))
