"""Whether the kernel itself uses a file, as swap or below a loop device: overwriting it would crash programs of this
machine, or destroy a file system that is mounted.
"""

from __future__ import annotations

import re
from pathlib import Path

from flatwater.cache.place import loops_of
from flatwater.errors import UserError

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


def require_not_in_use(path: Path, where: str) -> None:
    """Refuses a file that the kernel uses, whatever the experiment allows, and whoever made it. Errors: UserError."""
    if is_swap_file(path):
        what, hint = "is swap that is in use", "choose another path, or swapoff it first"
        raise UserError(f"{path} {what}: it will not be written to", where=where, hint=hint)
    info = path.stat()
    for loop in loops_of(("file", info.st_dev, info.st_ino)):
        what, hint = f"is in use ({loop} is a loop device on it)", f"choose another path, or losetup -d {loop} first"
        raise UserError(f"{path} {what}: it will not be written to", where=where, hint=hint)
