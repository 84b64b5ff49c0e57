"""Sizes as servers and people write them."""

from __future__ import annotations

import re

#: MySQL's own letters, and the unambiguous spelling of the same powers of 1024.
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_SIZE = re.compile(r"([0-9]{1,19})\s*([KMGT]?)(?:iB)?", re.ASCII | re.IGNORECASE)


def read_size(text: str) -> int | None:
    """Bytes of `4G`, `4GiB` or `4294967296`; None for anything else."""
    match = _SIZE.fullmatch(text.strip())
    return int(match[1]) * 1024 ** _POWERS[match[2].upper()] if match else None


def write_size(size: int) -> str:
    """A size for an option file: the largest of K, M and G that divides it (no server of the 5.x line knows T)."""
    for letter in "GMK":
        unit = 1024 ** _POWERS[letter]
        if size and size % unit == 0:
            return f"{size // unit}{letter}"
    return str(size)


def print_size(size: float) -> str:
    """A size for people: four digits and a binary unit (`121.1 GiB`)."""
    power = 0
    while power < 4 and abs(size) >= 1024:
        size /= 1024
        power += 1
    return f"{size:.4g} {'KMGT'[power - 1]}iB" if power else f"{size:.4g} B"
