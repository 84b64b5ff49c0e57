"""An experiment with a cache on two modelled appliances, for the tests of what a file can say of one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

FAST, SLOW = "fast.toml", "slow.toml"
_DEVICE = """\
kind = "memory"
title = "The {name} appliance"
capacity = "{capacity}"
latency_us = {latency_us}
read_mib_per_s = {mib_per_s}
write_mib_per_s = {mib_per_s}
[sources]
capacity = "made up"
latency_us = "made up"
read_mib_per_s = "made up"
write_mib_per_s = "made up"
"""


def devices(folder: Path) -> tuple[str, str]:
    """Writes both appliances; how an experiment names them."""
    (folder / FAST).write_text(_DEVICE.format(name="fast", capacity="1GiB", latency_us=50, mib_per_s=2000))
    (folder / SLOW).write_text(_DEVICE.format(name="slow", capacity="8GiB", latency_us=5000, mib_per_s=200))
    return str(folder / FAST), str(folder / SLOW)


def write(folder: Path, cache: Mapping[str, Any] | None = {}, **tables: Any) -> Path:
    """An experiment whose `[cache]` has these fields too (None: no such table); `tables` replace whole tables."""
    fast, slow = devices(folder)
    content: dict[str, Any] = {
        "workload": {"mode": "rndrw", "duration_s": 5, "threads": 4},
        "cache": None
        if cache is None
        else {"kind": "flash", "storage": {"kind": "memory", "device": fast}} | dict(cache),
        "storage": {"kind": "memory", "device": slow, "size": "2GiB"},
    } | tables
    path = folder / "cached.toml"
    path.write_text(tomli_w.dumps({name: table for name, table in content.items() if table is not None}))
    return path
