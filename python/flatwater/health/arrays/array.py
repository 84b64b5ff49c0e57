"""What an array is to health: drives that hold the same data, or parts of it, together."""

from __future__ import annotations

from dataclasses import dataclass

from flatwater.health.disks import Disk


@dataclass(frozen=True)
class Array:
    """Drives that one device or file system stands on."""

    #: As people call it: `/dev/md0`, `pool tank`.
    name: str
    #: `md`, `dm`, `zfs` or `btrfs`.
    kind: str
    #: `raid1`, `raidz2`, `linear`; empty where nobody tells.
    level: str
    members: tuple[Disk, ...]
    #: Whether it goes on when a member fails; None where that cannot be told.
    redundant: bool | None
    #: What it does now that takes time from requests, in words: `check, 12 %`.
    activity: str = ""
    #: Members that are missing or failed.
    missing: int = 0
