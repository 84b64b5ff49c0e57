"""The registry in which the kinds of all four layers meet."""

from __future__ import annotations

from typing import Any

from pydantic_core import PydanticCustomError

from flatwater.experiment import cache, database, storage, workload
from flatwater.experiment.layer import Layer
from flatwater.experiment.problem import Problem, explain_custom, quote, raise_problems, refuse
from flatwater.spelling import nearest

#: Layer, top to bottom -> its kinds that work.
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


def check_kind(layer: str, kind: Any) -> type[Layer]:
    """The class of a kind; refuses one that does not exist or is not built yet."""
    built = BUILT[layer]
    if not isinstance(kind, str):
        raise refuse(f"must be text (in quotes), not {quote(kind)}")
    if kind in built:
        return built[kind]
    works = "; ".join(f"{name} {', '.join(kinds)}" for name, kinds in BUILT.items())
    if kind in _PLANNED[layer]:
        raise refuse(f"{quote(kind)} is not built yet", f"what works now: {works}")
    close = nearest(kind, [*built, *_PLANNED[layer]])
    hint = f"did you mean {close}?" if close else f"what works now: {works}"
    raise refuse(f"there is no {layer} of the kind {quote(kind)}", hint)


def read_layer(layer: str, table: Any) -> Any:
    """Validates one layer's table as the kind it names; without a name, as the layer's first kind."""
    if isinstance(table, Layer):
        return table
    if not isinstance(table, dict):
        raise refuse(f"must be a table, not {quote(table)}")
    try:
        model = check_kind(layer, table["kind"]) if "kind" in table else next(iter(BUILT[layer].values()))
    except PydanticCustomError as error:
        what, hint = explain_custom(error)
        raise_problems(layer, [Problem(f"{layer}.kind", what, hint)], within=layer)
        raise
    return model.model_validate(table)
