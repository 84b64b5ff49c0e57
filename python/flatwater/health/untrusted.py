"""JSON that other programs print, read with suspicion: size, depth, names twice, and numbers that are none.

Everything in it is from outside. A value is taken only through an accessor, which gives None for whatever is not what
it should be.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass

from flatwater.printing import printable

#: smartctl nests seven deep.
_DEPTH_MAX = 64
#: A model's name has at most 40 characters (ATA, NVMe) or 24 (SCSI).
TEXT_MAX = 120
#: Counters of drives have at most 128 bits.
_NUMBER_MAX = 2.0**128
_NUMBER = re.compile(r"\d{1,39}(?:\.\d{1,12})?")
_NESTING = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]')


class UnreadableError(Exception):
    """It is not JSON that can be used; the message says why, without quoting it."""


@dataclass(frozen=True)
class Untrusted:
    """A value from outside; `nothing` where there was none."""

    value: object = None

    def at(self, *keys: str | int) -> Untrusted:
        """What is below these names and numbers."""
        value = self.value
        for key in keys:
            if isinstance(key, str) and isinstance(value, dict):
                value = value.get(key)
            elif isinstance(key, int) and isinstance(value, list) and -len(value) <= key < len(value):
                value = value[key]
            else:
                return Untrusted()
        return Untrusted(value)

    def items(self) -> list[Untrusted]:
        """The entries of a list."""
        return [Untrusted(one) for one in self.value] if isinstance(self.value, list) else []

    def entries(self) -> list[tuple[str, Untrusted]]:
        """The names and values of an object."""
        return [(name, Untrusted(one)) for name, one in self.value.items()] if isinstance(self.value, dict) else []

    @property
    def number(self) -> float | None:
        """A number that is finite and not negative; also one that is written as a string of digits."""
        value = self.value
        if isinstance(value, str):
            written = value.strip().replace(",", "")
            value = float(written) if _NUMBER.fullmatch(written) else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        # An integer of many digits is none that a drive can have, and too large for a float.
        if isinstance(value, int) and value.bit_length() > 128:
            return None
        return float(value) if math.isfinite(value) and 0 <= value <= _NUMBER_MAX else None

    @property
    def whole(self) -> int | None:
        """A number without a fraction, exact."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return self.value if 0 <= self.value <= 2**128 else None
        number = self.number
        return int(number) if number is not None and number == int(number) else None

    @property
    def flag(self) -> bool | None:
        """True or false."""
        return self.value if isinstance(self.value, bool) else None

    @property
    def text(self) -> str:
        """A text of one line that a terminal can show; empty where there is none."""
        return one_line(self.value) if isinstance(self.value, str) else ""


def one_line(text: str) -> str:
    """Text from outside on one line, without what a terminal would act upon, and not longer than a name is."""
    return " ".join(printable(text[: 4 * TEXT_MAX]).split())[:TEXT_MAX]


def parse_json(data: bytes) -> Untrusted:
    """JSON of a program. Errors: UnreadableError."""
    if not data.strip():
        raise UnreadableError("it printed nothing")
    depth = deepest = 0
    for found in _NESTING.finditer(data):
        sign = found[0][:1]
        depth += (sign in b"[{") - (sign in b"]}")
        deepest = max(deepest, depth)
    if deepest > _DEPTH_MAX:
        raise UnreadableError(f"its JSON is nested {deepest} deep")
    try:
        value = json.loads(data.decode(errors="replace"), parse_constant=_refuse, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise UnreadableError("it printed no whole JSON") from None
    return Untrusted(value)


def _refuse(_: str) -> None:
    """NaN and infinities are no readings."""
    return


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A name that is there twice with two values says nothing: nobody can tell which one is meant."""
    found: dict[str, object] = {}
    for name, value in pairs:
        found[name] = value if name not in found or found[name] == value else None
    return found
