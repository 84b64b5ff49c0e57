"""One thing that is worth knowing of a drive, an array or a controller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: As monitoring counts them (Monitoring Plugins, Development Guidelines, plugin return codes).
Level = Literal["ok", "warning", "critical", "unknown"]
EXIT_CODES: dict[Level, int] = {"ok": 0, "warning": 1, "critical": 2, "unknown": 3}
#: Which one counts of several.
_ORDER: tuple[Level, ...] = ("critical", "warning", "unknown", "ok")


@dataclass(frozen=True)
class Finding:
    """What is so, and what to do about it. `ok` is a note that is no warning."""

    level: Level
    #: The warning's file.
    name: str
    #: What it is of.
    subject: str
    text: str
    #: What to do; empty where there is nothing to do.
    hint: str = ""


def worst(levels: list[Level]) -> Level:
    """The level that counts."""
    return next((level for level in _ORDER if level in levels), "ok")
