"""Places that the supervisor holds open: whether they still are where they were, and how they are reached if not."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def is_there(path: str, held: int) -> bool:
    """Whether a path leads to what a descriptor holds."""
    try:
        named, own = Path(path).stat(), os.fstat(held)
    except (OSError, ValueError):
        return False
    if stat.S_ISBLK(named.st_mode) and stat.S_ISBLK(own.st_mode):
        # Nodes of devices are made anew when the kernel or udev looks at a disk again.
        return named.st_rdev == own.st_rdev
    return os.path.samestat(named, own)


def reachable(path: str, held: int | None) -> str:
    """The path; of a file that was removed or replaced, that of the descriptor: what is dirty in it is nowhere else."""
    return path if held is None or is_there(path, held) else f"/proc/self/fd/{held}"
