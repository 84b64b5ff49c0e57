"""What is mounted in a folder: deleting the folder would delete what is not in it."""

from __future__ import annotations

import os
import re
from pathlib import Path

#: Of proc(5): whose mounts, and where in a line the place stands.
_MOUNTS, _PLACE = Path("/proc/self/mountinfo"), 4


def unescape(name: str) -> str:
    """A name from /proc, where blanks, line ends and backslashes are spelt as octal numbers, and nothing else is."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), name)


def mounted_below(folder: int) -> str | None:
    """A place on or below an open folder on which something is mounted, if there is one.

    A bind mount may have the device number of what it is mounted on: only the kernel's list tells. Errors: OSError.
    """
    path = os.readlink(f"/proc/self/fd/{folder}")
    for line in _MOUNTS.read_bytes().decode(errors="surrogateescape").rstrip("\n").split("\n"):
        place = unescape(line.split(" ")[_PLACE])
        if place == path or place.startswith(f"{path}/"):
            return place
    return None
