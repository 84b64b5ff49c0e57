"""One spelling for names that a file may write in several ways: settings with underscores, parameters with dots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flatwater.experiment.database.settings import spell_field
from flatwater.experiment.device.parameters import TABLES, flatten
from flatwater.experiment.parse import Tables

#: The deepest settings: sweep.zip.database.settings.
_DEEPEST = 4


def spell(tables: Mapping[str, Any]) -> Tables:
    """The tables with every name in one spelling. A value that should be a table stays unchanged."""
    return _with_flat_parameters(_with_settings_spelled(tables))


def _with_settings_spelled(table: Mapping[str, Any], within: str = "") -> Tables:
    """A setting in both spellings stays in both: the validation reports it."""
    spelled: Tables = {}
    for name, value in table.items():
        plain = spell_field(f"{within}{name}").removeprefix(within)
        # At its old place, because the order of a sweep is the order of its cells.
        spelled[name if plain in table else plain] = _spelled_value(value, f"{within}{name}.")
    return spelled


def _spelled_value(value: Any, within: str) -> Any:
    if within.count(".") > _DEEPEST:
        return value
    if isinstance(value, list):
        return [_with_settings_spelled(one, within) if isinstance(one, dict) else one for one in value]
    return _with_settings_spelled(value, within) if isinstance(value, dict) else value


def _with_flat_parameters(tables: Tables) -> Tables:
    """`{collector = {policy = ..}}` becomes `{"collector.policy" = ..}`, in the storage and in the cache's storage."""
    for place in TABLES:
        tables = _replaced(tables, place.split("."), flatten)
    return tables


def _replaced(table: Tables, path: list[str], change: Any) -> Tables:
    """The tables with the table at a path changed, if there is one."""
    first, *rest = path
    inner = table.get(first)
    if not isinstance(inner, dict):
        return table
    return {**table, first: _replaced(inner, rest, change) if rest else change(inner)}
