"""The fitted device as a TOML file of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tomli_w

from flatwater.experiment.device.files import find_device, read_tables
from flatwater.fit.evaluate import as_written
from flatwater.fit.solve import Fit

#: Significant digits of a fitted figure: its interval is wider than the rest.
SIGNIFICANT = 4
#: The first word of the source of a fitted figure.
FITTED = "fitted"


def fitted_names(device: str) -> list[str]:
    """The fitted figures of a device's file, according to their sources; by their dotted names."""
    tables = read_tables(find_device(device))
    sources = tables.get("sources", {})
    return [
        name
        for name, value in _leaves(tables)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0
        if _source(sources, name).startswith(FITTED)
    ]


def to_device_toml(device: str, found: Fit, fitted_to: Sequence[str]) -> str:
    """The device's file with the fitted values and their sources. It includes the figures of the file's base."""
    tables = read_tables(find_device(device))
    sources = dict(tables.pop("sources", {}))
    source = f"{FITTED}: to {', '.join(fitted_to)} ({len(found.rows)} rows, rms error {100 * found.rms:.1f} %)"
    for parameter in found.parameters:
        *path, last = parameter.name.split(".")
        table = tables
        for part in path:
            table = table[part]
        table[last] = as_written(device, parameter.name, float(f"{parameter.value:.{SIGNIFICANT}g}"))
        sources[parameter.name] = source
    return tomli_w.dumps({**tables, "sources": sources})


def _source(sources: Mapping[str, str], name: str) -> str:
    """The source of a figure: its own, or its table's."""
    while name:
        if name in sources:
            return sources[name]
        name = name.rpartition(".")[0]
    return ""


def _leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
