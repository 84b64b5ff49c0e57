"""What the engine may write to."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass


@dataclass(frozen=True)
class Identity:
    """A file or a block device, whatever its name: `Identity` of crates/real/src/permit.rs."""

    #: The device number of the file system; of a block device its own.
    device: int
    #: None of a block device.
    inode: int | None

    @classmethod
    def of(cls, info: os.stat_result) -> Identity:
        """What stat(2) tells of."""
        return cls(info.st_rdev, None) if stat.S_ISBLK(info.st_mode) else cls(info.st_dev, info.st_ino)


@dataclass(frozen=True)
class Permit:
    """Files and block devices that were checked.

    Only whoever made sure that they may be written gives one. Without it the engine opens them read-only, and with it
    refuses a name that has come to mean something else.
    """

    files: tuple[Identity, ...]

    @classmethod
    def of(cls, descriptor: int) -> Permit:
        """For one open file. Errors: OSError."""
        return cls((Identity.of(os.fstat(descriptor)),))
