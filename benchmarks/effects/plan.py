"""What is asked of one server on one storage: as the files of experiments, and as it is kept beside its results."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from benchmarks.effects.matrix import Change, Fields
from benchmarks.effects.storages import Tables

#: The cell without a change.
UNCHANGED = Change("unchanged", {})
#: A model that stands between two ways to flush goes one way with one seed and the other with another.
MODEL_SEEDS = 5


@dataclass(frozen=True)
class Scale:
    """The size of the work, the same on both sides."""

    warehouses: int
    warmup_s: float
    duration_s: float
    rounds: int


@dataclass(frozen=True)
class Plan:
    """The base of one server on one storage, and the changes of it that were asked for so far."""

    server: str
    title: str
    generation: str
    storage: str
    scale: Scale
    unchanged: Fields
    changes: tuple[Change, ...]

    def cell(self, change: Change, seed: int, database: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
        """The experiment of the base with one change. `tables` are those of the storage."""
        content = self._content(seed, database, tables)
        for field, value in {**self.unchanged, **change.fields}.items():
            _put(content, field, value)
        return content

    def sweep(self, changes: Sequence[Change], database: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
        """The experiment of the base and of these changes, in this order, each with several seeds."""
        content = self.cell(UNCHANGED, 1, database, tables) | {"repeat": MODEL_SEEDS}
        swept: dict[str, list[Any]] = {}
        for field, value in self.unchanged.items():
            values = [value, *(change.fields.get(field, value) for change in changes)]
            if any(one != value for one in values):
                swept[field] = values
        return {**content, "sweep": {"zip": swept}} if swept else content

    def _content(self, seed: int, database: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
        scale = self.scale
        return {
            "title": f"Effects of changes on {self.title}",
            "seed": seed,
            "workload": {
                "kind": "tpcc",
                "warehouses": scale.warehouses,
                "warmup_s": scale.warmup_s,
                "duration_s": scale.duration_s,
                "check_consistency": False,
            },
            "database": {**database, "settings": {}},
            **copy.deepcopy(dict(tables)),
        }

    def to_json(self) -> str:
        """As it is kept."""
        return _KEPT.dump_json(self, indent=1).decode()

    @staticmethod
    def from_json(text: str) -> Plan:
        """As it was kept. Errors: pydantic.ValidationError for anything else."""
        return _KEPT.validate_json(text)


def folder_of(change: Change, number: int) -> str:
    """The name of the folder of one cell: its change and its round, which counts from 1."""
    return f"{re.sub('[^a-z0-9]+', '-', change.name.lower()).strip('-')}-{number}"


def _put(content: dict[str, Any], field: str, value: Any) -> None:
    *path, name = field.split(".")
    table = content
    for part in path:
        table = table.setdefault(part, {})
    table[name] = value


_KEPT = TypeAdapter(Plan)
