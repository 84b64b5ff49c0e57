"""What of a modelled server has a device of its own: logs, the doublewrite buffer, tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from flatwater.errors import UserError
from flatwater.experiment.device.load import load_device
from flatwater.experiment.problem import Problem


def _none_in_words(written: Any) -> Any:
    return None if written == "none" else written


#: A device of `devices/`, by its name or path; None or the word "none", which a sweep can say: none of its own.
DeviceName = Annotated[Annotated[str, Field(min_length=1)] | None, BeforeValidator(_none_in_words)]

#: The parts beside tables, as the engine calls them.
PARTS = ("log", "doublewrite", "binlog")


def held(parts: Mapping[str, str | None], tables: Mapping[str, str | None]) -> dict[str, list[Any]]:
    """Device -> the parts and tables that are on it, in the engine's words. What has none of its own is left out."""
    found: dict[str, list[Any]] = {}
    for part, device in parts.items():
        if device is not None:
            found.setdefault(device, []).append(part)
    for table, device in tables.items():
        if device is not None:
            found.setdefault(device, []).append({"table": table})
    return found


def call(holds: list[Any]) -> str:
    """What the series of a device are called by: the first thing that it holds."""
    return str(holds[0]["table"] if isinstance(holds[0], dict) else holds[0])


def device_problems(parts: Mapping[str, str | None], tables: Mapping[str, str | None]) -> Iterator[Problem]:
    """Devices that there are not."""
    named = {f"{part}_device": device for part, device in parts.items()}
    named |= {f"tables.{table}": device for table, device in tables.items()}
    for field, device in named.items():
        if device is None:
            continue
        try:
            load_device(device)
        except UserError as error:
            yield Problem(field, error.what, error.hint, (f"database.{field}",))
