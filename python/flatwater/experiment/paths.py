"""Dotted names (`workload.threads`) in the tables of a file: their places, the swept ones, and tables with changes.

No function changes its tables: each returns new ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from flatwater.experiment.database import settings
from flatwater.experiment.database.settings import spell_field
from flatwater.experiment.device import parameters
from flatwater.experiment.parse import Tables
from flatwater.experiment.workload import ALTERNATIVES
from flatwater.results.schema import FieldValues

#: Tables whose names belong to the server or to the device.
OPEN = (
    settings.TABLE,
    "database.tables",
    "database.placement.tables",
    "database.storages",
    *parameters.TABLES,
)


def split_open(field: str) -> tuple[str, str]:
    """The open table and the entry of a field (dots belong to the entry's name); ("", field) for any other field."""
    for table in OPEN:
        if field.startswith(f"{table}."):
            return table, field[len(table) + 1 :]
    return "", field


def path_of(field: str) -> list[str]:
    """The keys of a field in an experiment's tables. The name of a parameter is one key, with its dots."""
    table, name = split_open(field)
    return [*table.split("."), name] if table in parameters.TABLES else field.split(".")


def flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names and their values. `{"storage": {"fill": [..]}}` and `{"storage.fill": [..]}` give the same."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield spell_field(f"{prefix}{name}"), value


def swept_fields(sweep: Any) -> set[str]:
    """The fields of a `[sweep]` as it is in the file."""
    if not isinstance(sweep, Mapping):
        return set()
    zips = sweep.get("zip")
    groups: list[Mapping[str, Any]] = [{name: values for name, values in sweep.items() if name != "zip"}]
    groups += [group for group in (zips if isinstance(zips, list) else [zips]) if isinstance(group, Mapping)]
    return {field for group in groups for field, _ in flatten(group)}


def without_swept(sweep: Any, field: str) -> Any:
    """The sweep without a field, which may be flat or nested, in the grid or in a zip."""
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
    """The table without a field, which may be a flat name or nested tables."""
    if not isinstance(table, Mapping):
        return table
    kept = {name: value for name, value in table.items() if name != field}
    first, _, rest = field.partition(".")
    if rest and first in kept:
        kept[first] = without_field(kept[first], rest)
    return kept


def with_values(tables: Mapping[str, Any], values: FieldValues) -> Tables:
    """A copy of the tables with some fields set. Unchanged tables are shared, not copied."""
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
            # In flat spelling, so that the new value also replaces one in nested tables.
            flat = parameters.flatten(table)
            table.clear()
            table.update(flat)
        table[name] = value
        if field in ALTERNATIVES:
            table.pop(ALTERNATIVES[field].split(".")[-1], None)
    return changed
