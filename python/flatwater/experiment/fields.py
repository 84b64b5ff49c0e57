"""Fields by their dotted names (`workload.threads`): which exist, what values they take, how to get and set them."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from flatwater.experiment.kinds import BUILT, check_kind
from flatwater.experiment.problem import Table, explain_custom, explain_error, nearest
from flatwater.experiment.record import Record
from flatwater.experiment.workload import ALTERNATIVES


@cache
def all_fields() -> dict[str, FieldInfo]:
    """Every field that can be swept, by dotted name: those of all kinds of all layers, and of `record`."""
    found: dict[str, FieldInfo] = {}
    tables: list[tuple[str, type[BaseModel]]] = [
        *((layer, model) for layer, kinds in BUILT.items() for model in kinds.values()),
        ("record", Record),
    ]
    for prefix, model in tables:
        found.update(_fields_of(prefix, model))
    return found


def _fields_of(prefix: str, model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    for name, info in model.model_fields.items():
        yield f"{prefix}.{name}", info
        for part in _alternatives(info.annotation):
            if isinstance(part, type) and issubclass(part, Table):
                yield from _fields_of(f"{prefix}.{name}", part)


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


@cache
def _adapter(field: str) -> TypeAdapter[Any]:
    info = all_fields()[field]
    annotated: Any = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
    return TypeAdapter(annotated, config=ConfigDict(strict=True, allow_inf_nan=False))


def resolve_value(field: str, value: Any) -> Any:
    """What a known field makes of a value (`"16KiB"` -> 16384); raises ValueError saying what is wrong.

    The error's `args` are the sentence and its hint.
    """
    layer, _, name = field.partition(".")
    try:
        if name == "kind":
            check_kind(layer, value)
            return value
        return _adapter(field).validate_python(value)
    except PydanticCustomError as error:
        raise ValueError(*explain_custom(error)) from None
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        what, hint = explain_error(details)
        place = ".".join(str(part) for part in details["loc"] if isinstance(part, str) and part.isidentifier())
        raise ValueError(f"{place}: {what}" if place and details["type"] != "literal_error" else what, hint) from None


def unknown_field_hint(field: str) -> str:
    """What a field that does not exist was probably meant to be: one of the same name elsewhere, or a like one."""
    name = field.rpartition(".")[2]
    elsewhere = [known for known in all_fields() if known.rpartition(".")[2] == name]
    close = elsewhere[0] if elsewhere else nearest(field, all_fields())
    return f"did you mean {close}?" if close else "fields look like workload.threads"


def get_value(experiment: BaseModel, field: str) -> Any:
    """The resolved value of a field; None where a table on the way is absent."""
    value: Any = experiment
    for part in field.split("."):
        value = getattr(value, part, None)
    return value


def with_values(data: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of an experiment's data with some fields set; the tables on the way are copied, the rest is shared."""
    changed = dict(data)
    for field, value in values.items():
        *tables, name = field.split(".")
        table = changed
        for part in tables:
            inner = table.get(part)
            if isinstance(inner, BaseModel):
                inner = inner.model_dump()
            table[part] = dict(inner) if isinstance(inner, Mapping) else {}
            table = table[part]
        table[name] = value
        if field in ALTERNATIVES:
            table.pop(ALTERNATIVES[field].split(".")[-1], None)
    return changed
