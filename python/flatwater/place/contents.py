"""What is on a file or a block device: what would be lost."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

from flatwater.place.place import Place

#: What is looked at of a device on which no program finds anything known.
LOOKED_AT_BYTES = 1024 * 1024


def contents(place: Place) -> str | None:
    """What is on a place, in words, as `blkid -p` tells; None if there is nothing to lose."""
    told = _probe(place.path)
    if told:
        kind = told.get("TYPE") or (f"a {told['PTTYPE']} partition table" if "PTTYPE" in told else None)
        if kind is not None:
            about = [f'{name} "{told[key]}"' for name, key in (("label", "LABEL"), ("UUID", "UUID")) if key in told]
            kind = kind if kind.startswith("a ") else f"{kind} ({told.get('USAGE', 'known')})"
            return ", ".join([kind, *about])
    if place.bytes == 0 or not _has_data(place):
        return None
    return "data of an unknown kind"


def _probe(path: Path) -> dict[str, str]:
    try:
        ran = subprocess.run(["blkid", "-p", "-o", "export", str(path)], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    # Whatever stands in a label is text of a stranger's.
    pairs = (line.partition("=") for line in ran.stdout.splitlines() if line.isprintable())
    return {name: value.replace("\\", "") for name, equals, value in pairs if equals}


def _has_data(place: Place) -> bool:
    """Whether anything but zeros may be there: a hole, or space that was only reserved, holds nothing."""
    with place.path.open("rb") as handle:
        if place.kind == "file":
            try:
                os.lseek(handle.fileno(), 0, os.SEEK_DATA)
            except OSError as error:
                return error.errno != errno.ENXIO
            return True
        for at in (0, max(0, place.bytes - LOOKED_AT_BYTES)):
            handle.seek(at)
            if any(handle.read(LOOKED_AT_BYTES)):
                return True
    return False
