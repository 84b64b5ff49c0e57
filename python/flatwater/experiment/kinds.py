"""The registry of the kinds of all four layers, and the kinds of one experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flatwater.experiment import cache, database, storage, workload
from flatwater.experiment.layer import Layer
from flatwater.experiment.paths import swept_fields
from flatwater.experiment.problem import quote
from flatwater.spelling import nearest

#: Layer, from top to bottom -> its kinds.
BUILT: dict[str, dict[str, type[Layer]]] = {
    "workload": workload.KINDS,
    "database": database.KINDS,
    "cache": cache.KINDS,
    "storage": storage.KINDS,
}
_PLANNED = {
    "workload": workload.PLANNED,
    "database": database.PLANNED,
    "cache": cache.PLANNED,
    "storage": storage.PLANNED,
}


@dataclass(frozen=True)
class Kinds:
    """The kind of each layer, as far as it is known. The fields and their values depend on it.

    None: unknown, so that any kind of the layer is possible.
    """

    workload: str | None = None
    database: str | None = None
    cache: str | None = None
    storage: str | None = None

    def may_be(self, layer: str, kind: str) -> bool:
        """Whether a layer can be of a kind."""
        return getattr(self, layer) in (None, kind)

    @property
    def known(self) -> list[str]:
        """The known kinds, the workload's first."""
        return [kind for layer in BUILT if (kind := getattr(self, layer)) is not None]


#: No kind is known: a field may belong to any kind.
ANY: Kinds = Kinds()


def kinds_of(tables: Any) -> Kinds:
    """The kinds in an experiment's tables, as far as they are valid. The tables may contain any error."""
    found: dict[str, str] = {}
    tables = tables if isinstance(tables, Mapping) else {}
    swept = swept_fields(tables.get("sweep"))
    for layer, built in BUILT.items():
        table = tables.get(layer, {})
        kind = table.get("kind", next(iter(built))) if isinstance(table, Mapping) else None
        if isinstance(kind, str) and kind in built and f"{layer}.kind" not in swept:
            found[layer] = kind
    return Kinds(**found)


def kind_fault(layer: str, kind: Any) -> tuple[str, str | None] | None:
    """Why a layer cannot be of a kind, and a hint; None if it can."""
    built = BUILT[layer]
    if not isinstance(kind, str):
        return f"must be text (in quotes), not {quote(kind)}", None
    if kind in built:
        return None
    works = "what works now: " + "; ".join(f"{name} {', '.join(kinds)}" for name, kinds in BUILT.items())
    if kind in _PLANNED[layer]:
        return f"{quote(kind)} is not built yet", works
    close = nearest(kind, [*built, *_PLANNED[layer]])
    return f"there is no {layer} of the kind {quote(kind)}", f"did you mean {close}?" if close else works
