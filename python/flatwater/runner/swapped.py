"""Whether a file is where the kernel keeps memory: overwriting it would crash programs of this machine."""

from __future__ import annotations

import re
from pathlib import Path

#: Where the kernel lists swap (proc(5)).
SWAPS = Path("/proc/swaps")
_OCTAL = re.compile(r"\\([0-7]{3})")


def is_swap_file(path: Path) -> bool:
    """Whether swap is on in this very file, whatever name it is reached by."""
    try:
        lines = SWAPS.read_text(errors="surrogateescape").splitlines()[1:]
    except OSError:
        return False
    for line in lines:
        name, *rest = line.split()
        # The kernel writes spaces and the like as \040.
        other = Path(_OCTAL.sub(lambda found: chr(int(found[1], 8)), name))
        try:
            if rest[:1] == ["file"] and other.samefile(path):
                return True
        except OSError:  # it was removed, or is in another namespace
            continue
    return False
