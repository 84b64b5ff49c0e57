"""Fields by their dotted names (`workload.threads`): which exist, what values they take, how to get and set them.

Kinds of one layer may have fields of the same name (`workload.mode`), so a field has a definition a kind. Which kinds
are meant is known while an experiment is read (`in_kinds`); elsewhere a field is any kind's. `database.settings`
and `storage.parameters` (and the cache's own) are open: the names in them are the server's, and the device's.
"""

from __future__ import annotations

import contextvars
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from flatwater.experiment.database import settings
from flatwater.experiment.database.address import has_password
from flatwater.experiment.database.server import PASSWORD_VARIABLE
from flatwater.experiment.device import parameters
from flatwater.experiment.kinds import BUILT, check_kind
from flatwater.experiment.problem import Table, explain_custom, explain_error
from flatwater.experiment.record import Record
from flatwater.experiment.twin import Twin
from flatwater.experiment.workload import ALTERNATIVES
from flatwater.spelling import nearest

#: Layer -> its kind, for layers whose kind is known: as pairs, so that it can be a key.
_Kinds = tuple[tuple[str, str], ...]
_kinds: contextvars.ContextVar[_Kinds] = contextvars.ContextVar("kinds", default=())

#: What people call a field who come from another tool, or another kind: (kind, name) -> the field they mean.
_MEANT = {
    **{(kind, name): "workload.connections" for kind in ("tpcc", "oltp") for name in ("threads", "users", "clients")},
    **{(kind, "warmup"): "workload.warmup_s" for kind in ("fileio", "oltp", "replay", "tpcc")},
    **{(kind, "time"): "workload.duration_s" for kind in ("fileio", "oltp", "replay", "tpcc")},
    **{("oltp", name): "workload.rows" for name in ("table_size", "oltp_table_size", "size")},
    **{("oltp", name): "workload.distribution" for name in ("rand_type", "oltp_dist_type")},
    ("oltp", "oltp_tables_count"): "workload.tables",
    ("oltp", "zipf_theta"): "workload.zipfian_exp",
    ("tpcc", "size"): "workload.warehouses",
    ("tpcc", "scale"): "workload.warehouses",
    ("server", "server"): "database.binary",
    ("server", "my_cnf"): "database.settings",
    ("server", "variables"): "database.settings",
}


@contextmanager
def in_kinds(kinds: Mapping[str, str]) -> Iterator[None]:
    """Within it, the fields of these layers are those of these kinds only."""
    token = _kinds.set(tuple(sorted(kinds.items())))
    try:
        yield
    finally:
        _kinds.reset(token)


def known_kinds() -> tuple[tuple[str, str], ...]:
    """The kinds that are known here, as a key: what a field's values mean depends on them."""
    return _kinds.get()


def all_fields() -> dict[str, tuple[FieldInfo, ...]]:
    """Every field that can be swept, by dotted name, with its definitions: those of all layers, and of `record`."""
    return _fields_in(_kinds.get())


@cache
def _fields_in(kinds: _Kinds) -> dict[str, tuple[FieldInfo, ...]]:
    only = dict(kinds)
    tables: list[tuple[str, type[BaseModel]]] = [
        *(
            (layer, model)
            for layer, built in BUILT.items()
            for kind, model in built.items()
            if _means(only, layer, kind)
        ),
        ("record", Record),
        ("twin", Twin),
    ]
    found: dict[str, tuple[FieldInfo, ...]] = {}
    for prefix, model in tables:
        for field, info in _fields_of(prefix, model):
            found[field] = (*found.get(field, ()), info)
    return found


def _means(only: Mapping[str, str], layer: str, kind: str) -> bool:
    return only.get(layer, kind) == kind


def _fields_of(prefix: str, model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    for name, info in model.model_fields.items():
        yield f"{prefix}.{name}", info
        for part in _alternatives(info.annotation):
            if isinstance(part, type) and issubclass(part, Table):
                yield from _fields_of(f"{prefix}.{name}", part)


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def why_no_field(field: str) -> tuple[str, str | None] | None:
    """Why there is no field of a name, and a hint; None if there is one."""
    table, name = split_open(field)
    if table == settings.TABLE and table in all_fields():
        return settings.name_fault(name)
    known = table or field
    return None if known in all_fields() else ("there is no such field", unknown_field_hint(known))


#: Tables whose names are not flatwater's.
OPEN = (settings.TABLE, "database.tables", *parameters.TABLES)


def split_open(field: str) -> tuple[str, str]:
    """An open table and the name of an entry of it, whose dots are its own; ("", field) for any other field."""
    for table in OPEN:
        if field.startswith(f"{table}."):
            return table, field[len(table) + 1 :]
    return "", field


def path_of(field: str) -> list[str]:
    """The keys that lead to a field through an experiment's tables; a parameter's name is one key, dots and all."""
    table, name = split_open(field)
    return [*table.split("."), name] if table in parameters.TABLES else field.split(".")


@cache
def _adapters(field: str, kinds: _Kinds) -> list[TypeAdapter[Any]]:
    config = ConfigDict(strict=True, allow_inf_nan=False)
    annotations: list[Any] = [
        Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
        for info in _fields_in(kinds)[field]
    ]
    return [
        # A table has a configuration of its own.
        TypeAdapter(annotation, config=None if _is_table(annotation) else config)
        for annotation in annotations
    ]


def _is_table(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def resolve_value(field: str, value: Any) -> Any:
    """What a known field makes of a value (`"16KiB"` -> 16384); raises ValueError saying what is wrong.

    The error's `args` are the sentence and its hint. Entries of open tables stay as they are written.
    """
    layer, _, name = field.partition(".")
    table, _ = split_open(field)
    if table:
        fault = settings.value_fault(value) if table == settings.TABLE else parameters.value_fault(value)
        if fault is not None:
            raise ValueError(*fault)
        return value
    if field == "database.url" and has_password(value):
        # Both are written to results as they are.
        what = "a password may not stand in a sweep or a published figure"
        raise ValueError(what, f"put it in the environment's {PASSWORD_VARIABLE}")
    if name == "kind":
        try:
            check_kind(layer, value)
        except PydanticCustomError as error:
            raise ValueError(*explain_custom(error)) from None
        return value
    refused: ValueError | None = None
    for adapter in _adapters(field, _kinds.get()):
        try:
            return adapter.validate_python(value)
        except PydanticCustomError as error:
            refused = refused or ValueError(*explain_custom(error))
        except ValidationError as error:
            refused = refused or ValueError(*_explain(error))
    raise refused or ValueError("has no values", None)


def _explain(error: ValidationError) -> tuple[str, str | None]:
    details = error.errors(include_url=False)[0]
    what, hint = explain_error(details)
    place = ".".join(str(part) for part in details["loc"] if isinstance(part, str) and part.isidentifier())
    return f"{place}: {what}" if place and details["type"] != "literal_error" else what, hint


def is_known_elsewhere(field: str) -> bool:
    """Whether a field that does not exist is one of another kind, or what people of another tool call one."""
    return _meant(field) is not None or bool(_having(field))


def _meant(field: str) -> str | None:
    name = settings.spell(field.rpartition(".")[2])
    return next((_MEANT[kind, name] for _, kind in _kinds.get() if (kind, name) in _MEANT), None)


def _having(field: str) -> list[str]:
    """Other kinds of its layer that have a field."""
    layer = field.partition(".")[0]
    return [kind for kind, model in BUILT.get(layer, {}).items() if field in dict(_fields_of(layer, model))]


def unknown_field_hint(field: str) -> str:
    """What a field that does not exist was probably meant to be: one of the same name elsewhere, or a like one."""
    meant = _meant(field)
    if meant is not None:
        return f"did you mean {meant}?"
    if field in all_fields():
        return f"did you mean {field}?"
    if having := _having(field):
        layer = field.partition(".")[0]
        return "only with " + " or ".join(f'{layer}.kind = "{kind}"' for kind in having)
    name = field.rpartition(".")[2]
    elsewhere = [known for known in all_fields() if known.rpartition(".")[2] == name]
    if elsewhere:
        # A cache's own storage has all that a storage has.
        return f"did you mean {min(elsewhere, key=lambda known: known.count('.'))}?"
    close = nearest(field, all_fields())
    return f"did you mean {close}?" if close else "fields look like workload.threads"


def get_value(experiment: BaseModel, field: str) -> Any:
    """The resolved value of a field; None where a table on the way is absent."""
    value: Any = experiment
    for part in path_of(field):
        value = value.get(part) if isinstance(value, Mapping) else getattr(value, part, None)
    return value


def with_values(data: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of an experiment's data with some fields set; the tables on the way are copied, the rest is shared."""
    changed = dict(data)
    for field, value in values.items():
        *tables, name = path_of(field)
        table = changed
        for part in tables:
            inner = table.get(part)
            if isinstance(inner, BaseModel):
                inner = inner.model_dump()
            table[part] = dict(inner) if isinstance(inner, Mapping) else {}
            table = table[part]
        if split_open(field)[0] in parameters.TABLES:
            # Written as nested tables or as dotted names: one of the two, so that what is set replaces what is there.
            flat = parameters.flatten(table)
            table.clear()
            table.update(flat)
        table[name] = value
        if field in ALTERNATIVES:
            table.pop(ALTERNATIVES[field].split(".")[-1], None)
    return changed
