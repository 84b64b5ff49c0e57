"""Numbers for readers: thousands separators, binary sizes, times with a fitting unit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
#: The text for a missing figure.
MISSING = "—"


@dataclass(frozen=True)
class Scale:
    """How to draw values in a fitting unit: drawn = value * factor."""

    factor: float
    unit: str


def binary_scale(top: float) -> Scale:
    """The largest binary unit in which `top` bytes is at least 1."""
    power = 0
    while power + 1 < len(BINARY) and top >= 1024 ** (power + 1):
        power += 1
    return Scale(1 / 1024**power, BINARY[power])


def time_scale(span_s: float) -> Scale:
    """The unit of a time axis that is `span_s` seconds long."""
    for unit, seconds, up_to in (("s", 1, 600), ("min", 60, 3 * 3600), ("h", 3600, 72 * 3600)):
        if span_s <= up_to:
            return Scale(1 / seconds, unit)
    return Scale(1 / 86400, "d")


def number(value: Any, digits: int = 4) -> str:
    """About `digits` significant digits, with thousands separators: 1234567.8 -> 1,234,568."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return MISSING
    size = math.floor(math.log10(abs(value))) if value else 0
    decimals = max(0, min(6, digits - 1 - size))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float | None, *, signed: bool = False) -> str:
    """A share in percent: 0.123 -> 12.3 %. `signed` writes the plus of a positive one."""
    if share is None or not math.isfinite(share):
        return MISSING
    return f"{share * 100:{'+' if signed else ''},.1f} %"


def binary_bytes(value: float) -> str:
    """16384 -> 16 KiB."""
    scale = binary_scale(abs(value))
    return f"{number(value * scale.factor)} {scale.unit}"


def seconds(value: float | None) -> str:
    """A length of time with a fitting unit: 0.0000123 -> 12.3 µs; 5400 -> 1.5 h."""
    if value is None or not math.isfinite(value):
        return MISSING
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        # A longer unit is used from two of it on: 90 s is clearer than 1.5 min.
        if abs(value) >= size * (2 if size > 1 else 1):
            return f"{number(value / size, 3)} {unit}"
    return f"{number(value * 1e6, 3)} µs"


def microseconds(value: float | None) -> str:
    """A length of time given in microseconds."""
    return seconds(None if value is None else value * 1e-6)


def plain(text: object) -> str:
    """Text from another source, for a place where the charts interpret markup (`<b>`, `%{x}`): escaped, so that it has
    no effect.
    """
    escaped = str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("%{", "% {")
