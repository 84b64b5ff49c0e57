"""The storages of a twin: those of the run, as they answered. An emulated one is the device that it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import tomli_w
from pydantic import JsonValue

from flatwater.experiment import Experiment, ModelledStorage
from flatwater.experiment.database import InnodbModel
from flatwater.experiment.database.placement import not_modelled
from flatwater.plan.device import Volume, later, slower
from flatwater.plan.innodb import Other
from flatwater.runner.stack.database.size import estimate_bytes
from flatwater.what_if.base import Base, Storage

#: A twin's storage has no limit of IOPS or throughput: a run does not show what its storage could have done.
_NO_LIMIT_OPS, _NO_LIMIT_MIB = 1e9, 1e5
_DEVICE_BYTES = 1 << 40
#: Fields of an emulated storage that one below a modelled server does not have: its workload says how large it is.
_NOT_OF_VIRTUAL_TIME = ("real_time", "path", "file_system", "keep", "size", "fill")


def recorded_device(base: Base, storage: Storage) -> dict[str, JsonValue]:
    """The file of a device that answers as a storage of the run did."""
    return {
        "kind": "volume",
        "title": "The storage of the measured run, as it answered",
        "about": "Mean latencies of the measured phase; without limits, because a run does not show them",
        "capacity": f"{max(_DEVICE_BYTES, 4 * estimate_bytes(base.experiment)) >> 30}GiB",
        "read_us": storage.read_us,
        "write_us": storage.write_us,
        "flush_us": storage.flush_us,
        "spread_pct": 0,
        "iops": {"baseline": _NO_LIMIT_OPS},
        "throughput": {"baseline_mib_per_s": _NO_LIMIT_MIB},
        "sources": {"capacity": "large enough", "read_us": "recorded", "write_us": "recorded", "flush_us": "recorded"},
    }


def in_virtual_time(emulated: ModelledStorage) -> dict[str, JsonValue]:
    """The table of an emulated storage, in virtual time."""
    told = emulated.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    kept = {name: value for name, value in told.items() if name not in _NOT_OF_VIRTUAL_TIME}
    return {**kept, "kind": emulated.kind}


def placed_tables(base: Base, folder: Path) -> dict[str, dict[str, JsonValue]]:
    """The tables of the storages that parts can be placed on, by their names; device files are written to `folder`.

    A storage of files that nothing was on is left out: no figure of the run tells how it answers.
    """
    tables: dict[str, dict[str, JsonValue]] = {}
    for name, storage in base.experiment.server.storages.items():
        if isinstance(storage, ModelledStorage):
            tables[name] = in_virtual_time(storage)
        elif name in base.placed:
            path = folder / f"as-recorded-{name}.toml"
            path.write_text(tomli_w.dumps(recorded_device(base, base.placed[name])), encoding="utf-8")
            tables[name] = {"kind": "volume", "device": str(path)}
    return tables


def placement_tables(base: Base, tables: Mapping[str, dict[str, JsonValue]]) -> dict[str, JsonValue]:
    """The fields of a twin's database that say where its parts are; none for a run without other storages."""
    if not tables:
        return {}
    said = base.experiment.server.placement
    lacking = not_modelled(base.generation, said, base.own_files)
    placement: dict[str, JsonValue] = {str(item): name for item, name in said.items.items() if item not in lacking}
    if said.placed_tables and "tables" not in lacking:
        placement["tables"] = dict(said.placed_tables)
    return {"storages": {name: dict(table) for name, table in tables.items()}, "placement": placement}


def scaled_others(
    base: Base,
    others: tuple[Other, ...],
    experiment: Experiment,
    own: Mapping[str, dict[str, JsonValue]],
    longer: float,
) -> tuple[Other, ...]:
    """The devices beside that of the data, those of the run with the fitted latency: `longer` x the recorded one."""
    assert isinstance(experiment.database, InnodbModel)
    added_ns = round((longer - 1) * base.storage.read_us * 1000)
    found = []
    for other in others:
        storage = experiment.database.storages.get(other.name)
        table = own.get(other.name)
        if not isinstance(storage, ModelledStorage) or table is None or storage.device != table.get("device"):
            found.append(other)
        elif other.name in base.placed:
            assert isinstance(other.device, Volume), "the twin wrote the file of this device"
            found.append(replace(other, device=slower(other.device, longer)))
        else:
            found.append(replace(other, device=later(other.device, added_ns)))
    return tuple(found)
