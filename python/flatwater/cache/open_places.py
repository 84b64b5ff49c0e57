"""Files and devices that a cache holds open: whether their paths still lead to them, and how to open them if not."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def leads_to(path: str, descriptor: int) -> bool:
    """Whether a path leads to the file or device that a descriptor has open."""
    try:
        named, opened = Path(path).stat(), os.fstat(descriptor)
    except (OSError, ValueError):
        return False
    if stat.S_ISBLK(named.st_mode) and stat.S_ISBLK(opened.st_mode):
        # The kernel and udev make the node of a device anew when they scan a disk: the inode is another one then.
        return named.st_rdev == opened.st_rdev
    return os.path.samestat(named, opened)


def path_to_open(path: str, descriptor: int | None) -> str:
    """The path, or that of the descriptor if the file was removed or replaced: its dirty blocks are nowhere else."""
    return path if descriptor is None or leads_to(path, descriptor) else f"/proc/self/fd/{descriptor}"
