"""The parts of a modelled server with a device of their own: logs, the doublewrite buffer, tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from flatwater.errors import UserError
from flatwater.experiment.device.load import load_device
from flatwater.experiment.problem import Problem


def _none_in_words(written: Any) -> Any:
    return None if written == "none" else written


#: A device of `devices/`, by its name or path; None or the word "none", which a sweep can say: none of its own.
DeviceName = Annotated[Annotated[str, Field(min_length=1)] | None, BeforeValidator(_none_in_words)]

#: A part of a server, apart from its tables.
Part = Literal["log", "doublewrite", "binlog"]
PARTS: tuple[Part, ...] = ("log", "doublewrite", "binlog")


@dataclass(frozen=True)
class Holding:
    """The content of a device."""

    parts: tuple[Part, ...] = ()
    tables: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the device in its series: the first part that it holds."""
        return (*self.parts, *self.tables)[0]


def held(parts: Mapping[Part, str | None], tables: Mapping[str, str | None]) -> dict[str, Holding]:
    """Device -> its parts and tables. Parts without a device of their own are left out."""
    devices = dict.fromkeys(device for device in (*parts.values(), *tables.values()) if device is not None)
    return {
        device: Holding(
            tuple(part for part, own in parts.items() if own == device),
            tuple(table for table, own in tables.items() if own == device),
        )
        for device in devices
    }


def device_problems(parts: Mapping[Part, str | None], tables: Mapping[str, str | None]) -> Iterator[Problem]:
    """Devices that do not exist."""
    named = {f"{part}_device": device for part, device in parts.items()}
    named |= {f"tables.{table}": device for table, device in tables.items()}
    for field, device in named.items():
        if device is None:
            continue
        try:
            load_device(device)
        except UserError as error:
            yield Problem(field, error.what, error.hint, (f"database.{field}",))
