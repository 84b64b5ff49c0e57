"""What is asked of one server: as the file of an experiment, and as it is kept beside its results."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from benchmarks.effects.matrix import Change, Fields


@dataclass(frozen=True)
class Scale:
    """The size of the work, the same on both sides."""

    warehouses: int
    warmup_s: float
    duration_s: float
    repeats: int
    #: A device file, and the share of it that is emulated and modelled.
    device: str
    capacity_scale: float


@dataclass(frozen=True)
class Plan:
    """The base and the changes of one server."""

    title: str
    generation: str
    scale: Scale
    unchanged: Fields
    changes: tuple[Change, ...]

    def experiment(self, database: Fields, storage: Fields) -> dict[str, Any]:
        """A sweep of the base and each change, in this order, as often as the scale says."""
        scale = self.scale
        content: dict[str, Any] = {
            "title": f"Effects of changes on {self.title}",
            "seed": 1,
            "repeat": scale.repeats,
            "workload": {
                "kind": "tpcc",
                "warehouses": scale.warehouses,
                "warmup_s": scale.warmup_s,
                "duration_s": scale.duration_s,
                "check_consistency": False,
            },
            "database": {**database, "settings": {}},
            "storage": {"kind": "ssd", "device": scale.device, "capacity_scale": scale.capacity_scale, **storage},
        }
        swept: dict[str, list[Any]] = {}
        for field, value in self.unchanged.items():
            values = [value, *(change.fields.get(field, value) for change in self.changes)]
            if any(one != value for one in values):
                swept[field] = values
            *path, name = field.split(".")
            table = content
            for part in path:
                table = table[part]
            table[name] = value
        return {**content, "sweep": {"zip": swept}}

    def to_json(self) -> str:
        """As it is kept."""
        return _KEPT.dump_json(self, indent=1).decode()

    @staticmethod
    def from_json(text: str) -> Plan:
        """As it was kept. Errors: pydantic.ValidationError for anything else."""
        return _KEPT.validate_json(text)


_KEPT = TypeAdapter(Plan)
