"""What the engine may write to."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass


@dataclass(frozen=True)
class Permit:
    """Files and block devices that were checked, by what they are: `Permit` of crates/real/src/permit.rs.

    Only whoever made sure that they may be written gives one. Without it the engine opens them read-only, and with it
    refuses a name that has come to mean something else.
    """

    files: tuple[tuple[int, int | None], ...]

    @classmethod
    def of(cls, descriptor: int) -> Permit:
        """For one open file. Errors: OSError."""
        return cls((cls.identity(os.fstat(descriptor)),))

    @staticmethod
    def identity(info: os.stat_result) -> tuple[int, int | None]:
        """What a file or block device is, whatever its name: device number and inode, the latter of files only."""
        return (info.st_rdev, None) if stat.S_ISBLK(info.st_mode) else (info.st_dev, info.st_ino)

    def spec(self) -> list[dict[str, int | None]]:
        """In the engine's words."""
        return [{"device": device, "inode": inode} for device, inode in self.files]

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.spec())
