"""A device's file for the tests: those of flatwater change as they are calibrated."""

from __future__ import annotations

from pathlib import Path

MEMORY = """\
kind = "memory"
title = "An appliance"
capacity = "1GiB"
latency_us = 100
read_mib_per_s = 1200
write_mib_per_s = 500

[sources]
capacity = "made up"
latency_us = "made up"
read_mib_per_s = "made up"
write_mib_per_s = "made up"
"""


def appliance(folder: Path, name: str = "box.toml", text: str = MEMORY) -> str:
    """Writes it into a folder; returns how an experiment names it."""
    path = folder / name
    path.write_text(text)
    return str(path)
