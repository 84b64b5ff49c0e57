"""A controller without a battery, or with one that relearns: it stops its write-back cache, and writes wait for disks.

Published measurements of such a controller: 142.6 writes a second without its cache, thousands with it; a relearn took
seven hours every three months.
"""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.health.controller import Battery
from flatwater.health.evidence import Evidence
from flatwater.health.warnings.finding import Finding

NAME = "battery"


def warn(evidence: Evidence) -> Iterator[Finding]:
    """The state of each controller's battery."""
    for controller in evidence.controllers:
        battery = controller.battery
        if battery is not None and (found := _finding(battery, controller.name)) is not None:
            yield found


def _finding(battery: Battery, name: str) -> Finding | None:
    condition = battery.condition
    if condition == "missing":
        text = "there is no battery: the controller writes through, and every write waits for a disk"
        return Finding("warning", NAME, name, text, "fit one, or expect writes at the disks' speed")
    if condition == "replace":
        text = f"the battery must be replaced (it says: {battery.state or 'replacement required'})"
        return Finding(
            "critical", NAME, name, text, "replace it: without it writes are slow, or are lost with the power"
        )
    if condition == "learning":
        text = "the battery relearns: the write-back cache may be off for hours"
        return Finding("warning", NAME, name, text, "measure later; plan relearns for quiet hours")
    if condition == "doubtful":
        text = f"the battery says: {battery.state}"
        return Finding("warning", NAME, name, text, "look into it: the write-back cache may be off")
    if battery.next_learn:
        return Finding("ok", NAME, name, f"the battery relearns next: {battery.next_learn}")
    return None
