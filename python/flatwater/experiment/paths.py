"""Dotted names (`workload.threads`) in the tables of a file: where they lead, which are swept, tables with some set.

Tables are never changed here: each function gives new ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from flatwater.experiment.database import settings
from flatwater.experiment.database.settings import spell_field
from flatwater.experiment.device import parameters
from flatwater.experiment.tables import Tables
from flatwater.experiment.workload import ALTERNATIVES
from flatwater.results.schema import FieldValues

#: Tables whose names are not flatwater's, but the server's or the device's.
OPEN = (settings.TABLE, "database.tables", *parameters.TABLES)


def split_open(field: str) -> tuple[str, str]:
    """An open table and the name of an entry of it, whose dots are its own; ("", field) for any other field."""
    for table in OPEN:
        if field.startswith(f"{table}."):
            return table, field[len(table) + 1 :]
    return "", field


def path_of(field: str) -> list[str]:
    """The keys that lead to a field through an experiment's tables. A parameter's name is one key, with its dots."""
    table, name = split_open(field)
    return [*table.split("."), name] if table in parameters.TABLES else field.split(".")


def flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """`{"storage": {"fill": [..]}}` and `{"storage.fill": [..]}` are the same: dotted names and their values."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield spell_field(f"{prefix}{name}"), value


def swept_fields(sweep: Any) -> set[str]:
    """The fields of a `[sweep]` as the file has it."""
    if not isinstance(sweep, Mapping):
        return set()
    zips = sweep.get("zip")
    groups: list[Mapping[str, Any]] = [{name: values for name, values in sweep.items() if name != "zip"}]
    groups += [group for group in (zips if isinstance(zips, list) else [zips]) if isinstance(group, Mapping)]
    return {field for group in groups for field, _ in flatten(group)}


def without_swept(sweep: Any, field: str) -> Any:
    """A sweep without a field, written flat or nested, in the grid or walked with others."""
    if not isinstance(sweep, Mapping):
        return sweep
    kept = without_field(sweep, field)
    zips = kept.get("zip")
    if isinstance(zips, list):
        kept["zip"] = [without_field(group, field) for group in zips]
    elif isinstance(zips, Mapping):
        kept["zip"] = without_field(zips, field)
    return kept


def without_field(table: Any, field: str) -> Any:
    """A table without a field, whether its name is written flat or as nested tables."""
    if not isinstance(table, Mapping):
        return table
    kept = {name: value for name, value in table.items() if name != field}
    first, _, rest = field.partition(".")
    if rest and first in kept:
        kept[first] = without_field(kept[first], rest)
    return kept


def with_values(tables: Mapping[str, Any], values: FieldValues) -> Tables:
    """A copy of the tables with some fields set. Tables without such a field are shared, not copied."""
    changed = dict(tables)
    for field, value in values.items():
        *parts, name = path_of(field)
        table = changed
        for part in parts:
            inner = table.get(part)
            if isinstance(inner, BaseModel):
                inner = inner.model_dump()
            table[part] = dict(inner) if isinstance(inner, Mapping) else {}
            table = table[part]
        if split_open(field)[0] in parameters.TABLES:
            # In one spelling, so that the new value replaces one that is written as nested tables.
            flat = parameters.flatten(table)
            table.clear()
            table.update(flat)
        table[name] = value
        if field in ALTERNATIVES:
            table.pop(ALTERNATIVES[field].split(".")[-1], None)
    return changed
