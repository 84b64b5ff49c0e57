"""`storage.parameters`, and those of a cache's storage: figures of a device's file, replaced by their dotted names
(`collector.policy`).

Which there are is for the device's kind to say; here is only how they are written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from flatwater.experiment.parse import Tables
from flatwater.experiment.problem import Problem, quote, raise_problems

#: Where the parameters are in an experiment.
TABLE = "storage.parameters"
#: And those of a cache's own device.
TABLES = (TABLE, f"cache.{TABLE}")

Parameter = bool | int | float | str

#: Tables of a device's file stand at most this deep; what is deeper is no figure of one.
_DEEPEST = 4


def flatten(table: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Tables:
    """`{collector = {policy = ..}}` and `{"collector.policy" = ..}` are the same: dotted names and their values."""
    found: Tables = {}
    for name, value in table.items():
        if isinstance(value, Mapping) and depth < _DEEPEST:
            found |= flatten(value, f"{prefix}{name}.", depth + 1)
        else:
            found[f"{prefix}{name}"] = value
    return found


def value_fault(value: Any) -> tuple[str, str | None] | None:
    """Why a value cannot be a parameter's, and a hint; None when it can."""
    if isinstance(value, list):
        return f"must be one value, not {quote(value)}", f'to sweep it: [sweep] "{TABLE}.NAME" = [...]'
    if not isinstance(value, bool | int | float | str):
        return f"must be a number, text, true or false, not {quote(value)}", None
    if isinstance(value, float) and not math.isfinite(value):
        return f"must be a finite number, not {quote(value)}", None
    return None


def read_parameters(table: Any) -> Any:
    """The parameters by their dotted names; refuses values that no figure has, all of them at once."""
    if not isinstance(table, Mapping):
        return table
    flat = flatten(table)
    raise_problems("parameters", _faults(flat))
    return flat


def _faults(flat: Mapping[str, Any]) -> Iterator[Problem]:
    for name, value in flat.items():
        fault = value_fault(value)
        if fault is not None:
            yield Problem(name, *fault, (f"{TABLE}.{name}",))
