"""Sizes and durations in the notation of users.

A size is a whole number of bytes, or text with a unit: `16KiB`, `500M`, `2GB`. A bare K, M, G, T or P is binary, as
in MySQL's option files; KB, MB, ... are decimal (disk makers' units); KiB, MiB, ... are binary. A duration is a number
of seconds, or text: `30s`, `5m`, `1h30m`, `500ms`, `900us`.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, SerializationInfo

from flatwater.experiment.problem import quote, refuse

#: Files are addressed by a signed 64-bit offset (off_t).
MAX_SIZE = 2**63 - 1
#: A year: longer than any benchmark, and short enough for finite sums.
MAX_SECONDS = 366 * 86400.0

_LETTERS = "KMGTP"
_SIZE_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate(_LETTERS, start=1):
    _SIZE_UNITS |= {_letter: 1024**_power, f"{_letter}IB": 1024**_power, f"{_letter}B": 1000**_power}
_SIZE = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([A-Za-z]*)", re.ASCII)

_SECONDS_UNITS = {"us": 1e-6, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION_PART = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*(us|ms|min|s|m|h|d)\s*", re.ASCII)


def parse_size(value: Any) -> int:
    """Bytes of a size. Raises ValueError with a message that continues the field's name."""
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    elif isinstance(value, str):
        match = _SIZE.fullmatch(value.strip())
        unit = _SIZE_UNITS.get(match[2].upper()) if match else None
        if match is None or unit is None:
            raise ValueError(f"{quote(value)} is not a size")
        exact = Decimal(match[1]) * unit
        if exact != exact.to_integral_value():
            raise ValueError(f"{quote(value)} is not a whole number of bytes")
        size = int(exact)
    else:
        raise ValueError(f"must be a size, not {quote(value)}")
    if size <= 0:
        raise ValueError(f"must be more than 0 bytes, not {quote(value)}")
    if size > MAX_SIZE:
        raise ValueError(f"{quote(value)} is more than a file can hold (8 EiB)")
    return size


def write_size(size: int) -> str:
    """A size as text that is read back as the same number of bytes, in the largest binary unit that divides it."""
    power = 0
    while power < len(_LETTERS) and size and size % 1024 ** (power + 1) == 0:
        power += 1
    return f"{size // 1024**power}{_LETTERS[power - 1]}iB" if power else f"{size}B"


def print_size(size: float) -> str:
    """A size for display: four digits and a binary unit (`121.1 GiB`)."""
    power = 0
    while power < len(_LETTERS) and abs(size) >= 1024:
        size /= 1024
        power += 1
    return f"{size:.4g} {_LETTERS[power - 1]}iB" if power else f"{size:.4g} B"


def parse_duration(value: Any) -> float:
    """Seconds of a duration. Raises ValueError with a message that continues the field's name."""
    if isinstance(value, str):
        text = value.strip()
        parts = _DURATION_PART.findall(text)
        if not parts or _DURATION_PART.sub("", text):
            raise ValueError(f"{quote(value)} is not a duration")
        seconds = sum(float(number) * _SECONDS_UNITS[unit] for number, unit in parts)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"must be a finite number, not {quote(value)}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        # Compared before the conversion, because an integer may be too large for a float.
        seconds = float(value) if abs(value) <= MAX_SECONDS else MAX_SECONDS + 1
    else:
        raise ValueError(f"must be seconds or text like '5m', not {quote(value)}")
    if seconds > MAX_SECONDS:
        raise ValueError(f"must be at most a year, not {quote(value)}")
    return seconds


def print_duration(seconds: float) -> str:
    """A duration for display, in at most two units (`1 h 30 min`); below a tenth of a second in ms or us."""
    if seconds < 0:
        return f"-{print_duration(-seconds)}"
    if 0 < seconds < 0.1:
        return f"{seconds * 1000:.3g} ms" if seconds >= 0.001 else f"{seconds * 1e6:.3g} us"
    if seconds < 59.5:
        return f"{seconds:.3g} s" if seconds < 9.995 else f"{round(seconds)} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days = hours / 24
    return f"{days:.0f} days" if days < 730 else f"{days / 365.25:,.0f} years"


def print_left(seconds: float) -> str:
    """A remaining time for display, without fractions of a second (`12 s left`)."""
    return "less than 1 s left" if seconds < 1 else f"{print_duration(math.ceil(seconds))} left"


def _size_field(value: Any) -> int:
    try:
        return parse_size(value)
    except ValueError as error:
        raise refuse(str(error), "sizes look like 16KiB, 500M or 2GB; a bare number is bytes") from None


def read_duration(value: Any) -> float:
    """Seconds of a duration in a file. Raises what pydantic reports, with a hint."""
    try:
        return parse_duration(value)
    except ValueError as error:
        raise refuse(str(error), "durations look like 30 (seconds), '30s', '5m' or '1h30m'") from None


def _write_size_field(size: int, info: SerializationInfo) -> int | str:
    return write_size(size) if info.context == AS_WRITTEN else size


#: `model_dump(context=AS_WRITTEN)` gives sizes as text with units. Any other dump gives bytes.
AS_WRITTEN = {"sizes": "text"}

#: More than 0 bytes.
Size = Annotated[int, BeforeValidator(_size_field), PlainSerializer(_write_size_field)]
#: 0 seconds or more.
Seconds = Annotated[float, BeforeValidator(read_duration), Field(ge=0)]
#: More than 0 seconds.
SomeSeconds = Annotated[float, BeforeValidator(read_duration), Field(gt=0)]
Percent = Annotated[float, Field(ge=0, le=100)]
