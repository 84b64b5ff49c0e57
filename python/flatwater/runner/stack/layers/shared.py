"""A target that several hosts use, as this machine describes it to them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SharedFile:
    """A file that every host must find: the same inode, and no shorter."""

    path: Path
    inode: int
    bytes: int
    #: The word in its extended attribute, where the file system has them.
    mark: str | None


@dataclass(frozen=True)
class Shared:
    """A target as this machine sees it, for the hosts to compare with what they see."""

    path: Path
    #: Links in a user's directory are not followed.
    follow: bool
    #: The kernel that has checked the target, locked it and claimed it: a host with the same one need not.
    boot_id: str
    #: The file beside the target, and its content; None for a device.
    token: tuple[Path, str] | None = None
    #: Of a device: its size, and what is read at some offsets.
    device_bytes: int | None = None
    pieces: tuple[tuple[int, str], ...] = ()
    files: tuple[SharedFile, ...] = ()
    #: Whether the hosts write.
    writes: bool = False
