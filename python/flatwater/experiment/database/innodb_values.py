"""How the values of InnoDB's settings are written, and what of them a server takes.

A reader gives a written value as the model takes it. It raises ValueError with a sentence that continues the name of
the setting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flatwater.experiment.database.settings import Setting
from flatwater.experiment.problem import quote
from flatwater.experiment.units import parse_size

#: What the model takes; None: what follows from other settings.
Value = bool | int | float | str | None
Reader = Callable[[Setting], Value]

_SWITCHES = {"0": False, "off": False, "false": False, "1": True, "on": True, "true": True}


def number(least: int, most: int) -> Reader:
    """A whole number."""

    def read(value: Setting) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"must be a whole number from {least} to {most}, not {quote(value)}")
        return value

    return read


def percent(most: int) -> Reader:
    """A share, in percent."""

    def read(value: Setting) -> float:
        if isinstance(value, bool | str) or not 0 <= value <= most:
            raise ValueError(f"must be from 0 to {most}, not {quote(value)}")
        return float(value)

    return read


def size(value: Setting) -> int:
    """Bytes, or a size with its unit."""
    return 0 if value == 0 else parse_size(value)


def power_of_two(least: int, most: int) -> Reader:
    """A size that is a power of two."""

    def read(value: Setting) -> int:
        found = size(value)
        if not least <= found <= most or found & (found - 1):
            raise ValueError(f"must be a power of two from {least} to {most}, not {quote(value)}")
        return found

    return read


def chunk_size(value: Setting) -> int:
    """The size by which a buffer pool grows: whole MiB."""
    found = size(value)
    if found < 1 << 20 or found % (1 << 20):
        raise ValueError(f"must be whole MiB, not {quote(value)}")
    return found


def binlog_size(value: Setting) -> int:
    """The size of a file of the binary log."""
    found = size(value)
    if not 4096 <= found <= 1 << 30:
        raise ValueError(f"must be from 4096 to 1G, not {quote(value)}")
    return found


def word(words: Mapping[str, Value]) -> Reader:
    """One of some words, or their numbers."""

    def read(value: Setting) -> Value:
        key = str(int(value)) if isinstance(value, bool) else str(value).lower()
        if key not in words:
            raise ValueError(f"must be one of {', '.join(words)}, not {quote(value)}")
        return words[key]

    return read


#: On or off.
switch = word(_SWITCHES)


def file_name(value: Setting) -> Value:
    """On or off; the name of the files switches it on."""
    return True if isinstance(value, str) and value.lower() not in _SWITCHES else switch(value)
