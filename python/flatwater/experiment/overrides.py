"""`--set path.to.field=VALUE`: replacing what a file says."""

from __future__ import annotations

import datetime
import tomllib
from typing import Any

from flatwater.errors import UserError
from flatwater.experiment.database.settings import spell_field
from flatwater.experiment.faults import drop_from_sweep
from flatwater.experiment.fields import all_fields, path_of, resolve_value
from flatwater.experiment.storage import turned_to_model
from flatwater.experiment.sweep import swept_fields
from flatwater.experiment.workload import ALTERNATIVES


def override(data: dict[str, Any], written: str) -> str:
    """Applies one `field=value` to a file's data, in place; returns the dotted field.

    A field that the file sweeps is then no longer swept; `sweep.FIELD=[...]` sweeps it. The value is TOML if it
    reads as TOML, otherwise text: neither `16KiB` nor a path needs quotes.
    """
    where = shown(written)
    key, equals, text = written.partition("=")
    parts = _key_parts(key) if equals else []
    if not parts:
        raise UserError("must look like path.to.field=VALUE", where=where)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError("the value is not UTF-8 text", where=where) from None
    field = spell_field(".".join(parts))
    drop_from_sweep(data.get("sweep"), field.removeprefix("sweep."))
    *tables, name = path_of(field)
    value = _value(field, text)
    if field == "storage.kind" and isinstance(value, str):
        turned_to_model(data, value)
    if field == "cache.kind" and value == "none":
        _take_cache_out(data)
    table = data
    for part in tables:
        inner = table.setdefault(part, {})
        if not isinstance(inner, dict):
            raise UserError(f"{part} is a value or a list, not a table", where=where)
        table = inner
    table[name] = value
    if field in ALTERNATIVES:
        table.pop(ALTERNATIVES[field].rpartition(".")[2], None)
    return field


def _take_cache_out(data: dict[str, Any]) -> None:
    """Drops what the file says of its cache, and what it sweeps of it: the same experiment without one."""
    data["cache"] = {}
    for name in [name for name in swept_fields(data.get("sweep")) if name.startswith("cache.")]:
        drop_from_sweep(data.get("sweep"), name)


def shown(written: str) -> str:
    """An override for an error to show: a server's url may hold a password."""
    key, _, _ = written.partition("=")
    return "--set database.url=..." if "".join(key.split()).replace('"', "") == "database.url" else f"--set {written}"


def _key_parts(key: str) -> list[str]:
    """The parts of a key, quoted or not; none if it is no key."""
    parts = []
    try:
        table = tomllib.loads(f"{key.strip()} = 0")
        while isinstance(table, dict):
            ((part, table),) = table.items()
            parts.append(part)
    except (ValueError, RecursionError):
        return []
    return parts


def _value(field: str, text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    value = parsed["value"]
    if len(parsed) != 1 or isinstance(value, datetime.date | datetime.time):
        return text
    if field in all_fields() and not _fits(field, value) and _fits(field, text):
        return text  # a directory may be named 2024
    return value


def _fits(field: str, value: Any) -> bool:
    try:
        resolve_value(field, value)
    except ValueError:
        return False
    return True
