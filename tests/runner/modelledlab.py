"""Experiments on a modelled appliance, for tests of executors: a cell takes as long as its rate asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomli_w
from lab import Lab

#: An appliance of memory, whose figures do not matter here.
APPLIANCE = """\
kind = "memory"
title = "An appliance for tests"
capacity = "1GiB"
latency_us = 100
read_mib_per_s = 1000
write_mib_per_s = 1000
[sources]
capacity = "chosen"
latency_us = "chosen"
read_mib_per_s = "chosen"
write_mib_per_s = "chosen"
"""


def write_modelled(lab: Lab, rates: Sequence[float], *, duration_s: float = 1.0, **rest: Any) -> Path:
    """An experiment of one cell a rate; a million requests take about a fifth of a second."""
    device = lab.folder / "appliance.toml"
    device.write_text(APPLIANCE)
    path = lab.folder / f"modelled{len(rates)}.toml"
    content = {
        "workload": {"mode": "rndrw", "duration_s": duration_s},
        "storage": {"kind": "memory", "device": str(device), "size": "64MiB"},
        "sweep": {"workload.rate_per_s": list(rates)},
    } | rest
    path.write_text(tomli_w.dumps(content))
    return path


def summaries(out: Path) -> int:
    """How many cells of a result under way are done."""
    return len(list(out.glob("cells/*/summary.json")))
