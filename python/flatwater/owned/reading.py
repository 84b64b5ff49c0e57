"""Reading the records that flatwater writes beside what it makes."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any


def read_record(path: Path) -> dict[str, Any]:
    """The JSON object in a file that flatwater wrote; empty if there is none, or if it is damaged.

    What has the name of such a file and is none (a link, a pipe, a device) is somebody else's: it is not read, and
    nothing waits for it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as handle:
            found = json.loads(handle.read()) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
