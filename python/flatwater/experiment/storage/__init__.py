"""The storage layer: where the bytes go. One class a kind, met in KINDS.

file.py      files and block devices of this machine
modelled.py  devices of `devices/`, in virtual time or served in real time
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flatwater.experiment.layer import Layer
from flatwater.experiment.parse import Tables
from flatwater.experiment.storage.file import Fault, FileStorage, LocalPath
from flatwater.experiment.storage.modelled import (
    HddStorage,
    MemoryStorage,
    ModelledStorage,
    RaidStorage,
    SsdStorage,
    VolumeStorage,
)

__all__ = [
    "KINDS",
    "PLANNED",
    "Fault",
    "FileStorage",
    "LocalPath",
    "ModelledStorage",
    "Storage",
    "carried_over",
    "turned_to_model",
]

#: Any storage: `kind` decides which.
Storage = FileStorage | SsdStorage | HddStorage | RaidStorage | MemoryStorage | VolumeStorage

#: Every kind of storage that works.
KINDS: dict[str, type[Layer]] = {
    "file": FileStorage,
    "ssd": SsdStorage,
    "hdd": HddStorage,
    "raid": RaidStorage,
    "memory": MemoryStorage,
    "volume": VolumeStorage,
}
#: Kinds of the design that are not built yet.
PLANNED: tuple[str, ...] = ()


def carried_over(table: Mapping[str, Any], kind: str) -> Tables:
    """What of a `[storage]` table still stands when its kind is replaced by another one (`--set storage.kind=ssd`).

    What only the old kind has is dropped.
    """
    model = KINDS.get(kind)
    if model is None or table.get("kind", "file") == kind:
        return dict(table)
    kept = {name: value for name, value in table.items() if name in model.model_fields}
    if table.get("kind", "file") == "file":
        # A place of this machine is used in real time only, which the file of a real run cannot say.
        for name in ("path", "keep"):
            kept.pop(name, None)
    else:
        for name in ("device", "parameters"):
            kept.pop(name, None)
    return kept


def turned_to_model(tables: Tables, kind: str) -> Tables:
    """An experiment's tables with another kind of storage in the place of its own.

    How a real device is prepared becomes the state in which a modelled one begins: one discarded first is fresh;
    one that is preconditioned, discarded or not, is in the state that preconditioning is for. Its sequential writes
    would only take a model away from it: after them, a card is fast for as long as it has erased blocks.
    """
    table, workload = tables.get("storage", {}), tables.get("workload")
    if not isinstance(table, dict) or kind not in KINDS:
        return tables
    changed = {**tables, "storage": carried_over(table, kind)}
    if table.get("kind", "file") == "file" and kind != "file" and isinstance(workload, dict):
        passes = workload.get("precondition_passes", 0)
        changed["workload"] = {name: value for name, value in workload.items() if name != "precondition_passes"}
        if table.get("purge") is True and not passes and "initial" in KINDS[kind].model_fields:
            changed["storage"].setdefault("initial", "fresh")
    return changed
