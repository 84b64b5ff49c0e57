"""The storages of the table: what is below the server, what is below its model, and what can be changed of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from benchmarks.effects.matrix import Change, Fields

#: Tables of an experiment's file.
Tables: TypeAlias = Mapping[str, Mapping[str, Any]]

#: The share of the card that holds data in the base, per cent. Of what users of these cards filled there is no figure:
#: between full, where the collector works hardest, and half full.
OCCUPIED_PCT = 75
#: The real disk of this machine is not known. Its model is the nearest in kind: a local NVMe drive.
DISK_LIKE = "samsung-pm9a3-7680-tlc"


@dataclass(frozen=True)
class Storage:
    """One storage: the tables of its experiment, and its own changes."""

    name: str
    title: str
    #: The tables `storage` and `cache` of the model.
    modelled: Tables
    #: What its changes replace, unchanged.
    unchanged: Fields
    changes: tuple[Change, ...]
    #: Whether the server has the same device in real time; otherwise a directory of this machine.
    is_emulated: bool = True

    def real(self, place: str) -> Tables:
        """The tables of the real server, with its data below a directory."""
        if not self.is_emulated:
            return {"storage": {"kind": "file", "path": place}}
        served = {"real_time": True, "path": place}
        tables = {"storage": {**self.modelled["storage"], **served, "file_system": "ext4"}}
        if "cache" in self.modelled:
            cache = self.modelled["cache"]
            tables["cache"] = {**cache, "storage": {**cache["storage"], **served}}
        return tables


_ARRAY = {"kind": "raid", "device": "raid10-8", "capacity_scale": 0.01}
_BATTERY, _OCCUPIED = "storage.parameters.controller.battery", "storage.occupied_pct"

STORAGES = (
    Storage(
        "card",
        f"a card, {OCCUPIED_PCT} % full",
        {"storage": {"kind": "ssd", "device": "intel-x25-m", "capacity_scale": 0.1}},
        {_OCCUPIED: OCCUPIED_PCT},
        (Change("card full", {_OCCUPIED: 100}), Change("card half full", {_OCCUPIED: 50})),
    ),
    Storage(
        "array",
        "an array with a battery",
        {"storage": _ARRAY},
        {_BATTERY: True},
        (Change("array without battery", {_BATTERY: False}),),
    ),
    Storage(
        "cache",
        "an array behind a flash cache",
        {
            "storage": _ARRAY,
            "cache": {
                "kind": "flash",
                "preset": "flashcache",
                "size": "256MiB",
                "storage": {"kind": "ssd", "device": "intel-x25-m", "capacity_scale": 0.05},
            },
        },
        {"cache.enabled": True, "cache.mode": "write-back"},
        (Change("no cache", {"cache.enabled": False}), Change("cache write-through", {"cache.mode": "write-through"})),
    ),
    Storage(
        "disk",
        "the disk of this machine",
        {"storage": {"kind": "ssd", "device": DISK_LIKE, "capacity_scale": 0.01}},
        {},
        (),
        is_emulated=False,
    ),
)
NAMES: Sequence[str] = tuple(one.name for one in STORAGES)


def find_storage(name: str) -> Storage:
    """The storage of this name. Errors: KeyError."""
    return {one.name: one for one in STORAGES}[name]
