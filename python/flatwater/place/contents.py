"""The content of a file or a block device, which a write would destroy."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

from flatwater.place.place import Place

#: Bytes that are read at the beginning and the end of a device on which blkid finds nothing.
LOOKED_AT_BYTES = 1024 * 1024


def contents(place: Place) -> str | None:
    """The content of a place in words, from `blkid -p`; None if there is nothing to lose."""
    found = _probe(place.path)
    if found:
        kind = found.get("TYPE") or (f"a {found['PTTYPE']} partition table" if "PTTYPE" in found else None)
        if kind is not None:
            about = [f'{name} "{found[key]}"' for name, key in (("label", "LABEL"), ("UUID", "UUID")) if key in found]
            kind = kind if kind.startswith("a ") else f"{kind} ({found.get('USAGE', 'known')})"
            return ", ".join([kind, *about])
    if place.bytes == 0 or not _has_data(place):
        return None
    return "data of an unknown kind"


def _probe(path: Path) -> dict[str, str]:
    try:
        ran = subprocess.run(["blkid", "-p", "-o", "export", str(path)], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    # The text in a label is not trusted.
    pairs = (line.partition("=") for line in ran.stdout.splitlines() if line.isprintable())
    return {name: value.replace("\\", "") for name, equals, value in pairs if equals}


def _has_data(place: Place) -> bool:
    """Whether a place may have other data than zeros. Holes and reserved space are no data."""
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
