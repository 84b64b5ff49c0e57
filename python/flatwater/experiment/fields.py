"""Fields by their dotted names (`workload.threads`): their existence, their values, and hints for wrong names.

Kinds of one layer may have fields with the same name (`workload.mode`), so a field has one definition for each kind.
Each function takes the known kinds; without them, a field may belong to any kind. `database.settings` and
`storage.parameters` (also the cache's) are open tables: their names belong to the server and to the device.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from flatwater.experiment.database import settings
from flatwater.experiment.database.address import has_password
from flatwater.experiment.database.server import PASSWORD_VARIABLE
from flatwater.experiment.device import parameters
from flatwater.experiment.kinds import ANY, BUILT, Kinds, kind_fault
from flatwater.experiment.load_hosts import Load
from flatwater.experiment.paths import path_of, split_open
from flatwater.experiment.problem import Table, explain_custom, explain_error
from flatwater.experiment.record import Record
from flatwater.experiment.twin import Twin
from flatwater.results.schema import FieldValues
from flatwater.spelling import nearest

#: Names of other tools, or of other kinds: (kind, name) -> the field that is meant.
_MEANT = {
    **{
        (kind, name): "workload.connections"
        for kind in ("tpcc", "oltp", "sql")
        for name in ("threads", "users", "clients")
    },
    **{(kind, "warmup"): "workload.warmup_s" for kind in ("fileio", "oltp", "query-log", "replay", "sql", "tpcc")},
    **{(kind, "time"): "workload.duration_s" for kind in ("fileio", "oltp", "query-log", "replay", "sql", "tpcc")},
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


#: The experiment of the library that has every field of a kind of workload.
_SHOWING = {"fileio": "quick", "oltp": "oltp-quick", "sql": "own-sql", "tpcc": "tpcc-quick"}
#: The largest number of fields in a hint.
_MOST_LISTED = 14


@cache
def all_fields(kinds: Kinds = ANY) -> dict[str, tuple[FieldInfo, ...]]:
    """Every field that can be swept, by dotted name, with its definitions: of all layers and of other tables."""
    layers: list[tuple[str, type[BaseModel]]] = [
        (layer, model) for layer, built in BUILT.items() for kind, model in built.items() if kinds.may_be(layer, kind)
    ]
    found: dict[str, tuple[FieldInfo, ...]] = {}
    others: list[tuple[str, type[BaseModel]]] = [("load", Load), ("record", Record), ("twin", Twin)]
    for prefix, model in layers + others:
        for field, info in _fields_of(prefix, model):
            found[field] = (*found.get(field, ()), info)
    return found


def _fields_of(prefix: str, model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    for name, info in model.model_fields.items():
        yield f"{prefix}.{name}", info
        for part in _alternatives(info.annotation):
            if isinstance(part, type) and issubclass(part, Table):
                yield from _fields_of(f"{prefix}.{name}", part)


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def takes_text(field: str, kinds: Kinds = ANY) -> bool:
    """Whether some definition of the field may be any text; not one of the words that it lists."""
    return any(_is_text(info.annotation) for info in all_fields(kinds).get(field, ()))


def _is_text(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _is_text(get_args(annotation)[0])
    parts = _alternatives(annotation)
    return annotation is str if len(parts) == 1 else any(_is_text(part) for part in parts)


def why_no_field(field: str, kinds: Kinds = ANY) -> tuple[str, str | None] | None:
    """Why there is no field with this name, and a hint; None if there is one."""
    table, name = split_open(field)
    if table == settings.TABLE and table in all_fields(kinds):
        return settings.name_fault(name)
    known = table or field
    return None if known in all_fields(kinds) else ("there is no such field", unknown_field_hint(known, kinds))


@cache
def _adapters(field: str, kinds: Kinds) -> list[TypeAdapter[Any]]:
    config = ConfigDict(strict=True, allow_inf_nan=False)
    annotations: list[Any] = [
        Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
        for info in all_fields(kinds)[field]
    ]
    return [
        # A table has its own configuration.
        TypeAdapter(annotation, config=None if _is_table(annotation) else config)
        for annotation in annotations
    ]


def _is_table(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def resolve_value(field: str, value: Any, kinds: Kinds = ANY) -> Any:
    """The value of a field in plain units (`"16KiB"` -> 16384). Raises ValueError for a wrong value.

    The error's `args` are the message and its hint. Entries of open tables stay unchanged.
    """
    layer, _, name = field.partition(".")
    table, entry = split_open(field)
    if table:
        of_server = table == settings.TABLE
        fault = settings.value_fault(entry, value) if of_server else parameters.value_fault(value)
        if fault is not None:
            raise ValueError(*fault)
        return value
    if field == "database.url" and has_password(value):
        # Sweeps and published figures are stored in results as they are.
        what = "a password may not stand in a sweep or a published figure"
        raise ValueError(what, f"put it in the environment's {PASSWORD_VARIABLE}")
    if name == "kind":
        fault = kind_fault(layer, value)
        if fault is not None:
            raise ValueError(*fault)
        return value
    refused: ValueError | None = None
    for adapter in _adapters(field, kinds):
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


def resolve_cells(cells: FieldValues, kinds: Kinds = ANY) -> FieldValues:
    """Fields and values that name cells, in plain units."""
    return {field: resolve_value(field, value, kinds) for field, value in cells.items()}


def unknown_field_hint(field: str, kinds: Kinds = ANY) -> str:
    """A hint for an unknown field: a field with the same name elsewhere, or a similar one."""
    known = all_fields(kinds)
    if (meant := _meant(field, kinds)) is not None:
        return f"did you mean {meant}?"
    if field in known:
        return f"did you mean {field}?"
    if having := _having(field):
        layer = field.partition(".")[0]
        return "only with " + " or ".join(f'{layer}.kind = "{kind}"' for kind in having)
    name = field.rpartition(".")[2]
    elsewhere = [other for other in known if other.rpartition(".")[2] == name]
    if elsewhere:
        # A cache's storage has all fields of a storage.
        return f"did you mean {min(elsewhere, key=lambda other: other.count('.'))}?"
    close = nearest(field, known)
    return f"did you mean {close}?" if close else "fields look like workload.threads"


def unknown_entry_hint(table: str, name: str, siblings: Sequence[str], kinds: Kinds) -> str:
    """A hint for an unknown name in a table: one of the table's names, or a field elsewhere."""
    field = f"{table}.{name}" if table else name
    there_is = any(known.rpartition(".")[2] == name for known in all_fields(kinds))
    if there_is or _meant(field, kinds) is not None or _having(field):
        return unknown_field_hint(field, kinds)
    close = nearest(name, siblings)
    if close:
        return f"did you mean {close}?"
    if len(siblings) > _MOST_LISTED:
        return f"`flatwater show {_SHOWING.get(kinds.workload or '', 'quick')} --resolved` shows every field"
    return f"there is: {', '.join(siblings)}"


def fields_in(table: str, kinds: Kinds) -> list[str]:
    """The names of a table's fields."""
    return [known.rpartition(".")[2] for known in all_fields(kinds) if known.rpartition(".")[0] == table]


def _meant(field: str, kinds: Kinds) -> str | None:
    name = settings.spell(field.rpartition(".")[2])
    return next((_MEANT[kind, name] for kind in kinds.known if (kind, name) in _MEANT), None)


def _having(field: str) -> list[str]:
    """The kinds of a field's layer that have the field."""
    layer = field.partition(".")[0]
    return [kind for kind, model in BUILT.get(layer, {}).items() if field in dict(_fields_of(layer, model))]


def get_value(experiment: BaseModel, field: str) -> Any:
    """The resolved value of a field; None if one of its tables is absent."""
    value: Any = experiment
    for part in path_of(field):
        value = value.get(part) if isinstance(value, Mapping) else getattr(value, part, None)
    return value
