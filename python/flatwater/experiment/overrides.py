"""`--set path.to.field=VALUE`: replaces values of a file."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Sequence
from typing import Any

from flatwater.errors import UserError
from flatwater.experiment.database.settings import spell_field
from flatwater.experiment.fields import all_fields, resolve_value, takes_text
from flatwater.experiment.parse import DEEPEST, Tables
from flatwater.experiment.paths import path_of, swept_fields, without_field, without_swept
from flatwater.experiment.storage import turned_to_model
from flatwater.experiment.workload import ALTERNATIVES


def override_all(tables: Tables, overrides: Sequence[str], seed: int | None = None) -> tuple[Tables, dict[str, str]]:
    """The tables with every `field=value` applied, and with `seed` instead of the file's.

    Also returns the fields that the command line sets, each with the option that set it. Errors: UserError.
    """
    set_by = {}
    # Kinds first, because other overrides may set fields that only the new kind has.
    for written in sorted(overrides, key=lambda written: not _field_of(written).endswith(".kind")):
        tables = override(tables, written)
        set_by[_field_of(written)] = shown(written)
    if seed is not None:
        tables = {**tables, "seed": seed}
        set_by["seed"] = f"--seed {seed}"
    return tables, set_by


def override(tables: Tables, written: str) -> Tables:
    """The tables with one `field=value` applied. Errors: UserError.

    A field that the file sweeps is no longer swept. `sweep.FIELD=[...]` sweeps it. A value that is not valid TOML is
    text: neither `16KiB` nor a path needs quotes.
    """
    where = shown(written)
    field, text = _field_of(written), written.partition("=")[2]
    if not field:
        raise UserError("must look like path.to.field=VALUE", where=where)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError("the value is not UTF-8 text", where=where) from None
    tables = _with_sweep(tables, without_swept(tables.get("sweep"), field.removeprefix("sweep.")))
    value = _value(field, text)
    if field == "storage.kind" and isinstance(value, str):
        tables = turned_to_model(tables, value)
    if field == "cache.kind" and value == "none":
        tables = _without_cache(tables)
    path = path_of(field)
    if len(path) > DEEPEST:
        raise UserError("there is no field that deep", where=where)
    changed = _set(tables, path, value, where)
    return without_field(changed, ALTERNATIVES[field]) if field in ALTERNATIVES else changed


def meant(written: str) -> tuple[str, list[Any]]:
    """The field of `field=value` ("" if it has none), and each value that `override` may give it.

    Which of two it gives may depend on a file that is there or not. Nothing is opened to know it here.
    """
    field, text = _field_of(written), written.partition("=")[2]
    value = _parsed(text)
    is_plain = isinstance(value, str) and value
    return field, [value] if is_plain or not takes_text(field) else [value, text]


def _set(table: Tables, path: Sequence[str], value: Any, where: str) -> Tables:
    """The tables with a value at a path."""
    name, *rest = path
    if not rest:
        return {**table, name: value}
    inner = table.get(name, {})
    if not isinstance(inner, dict):
        raise UserError(f"{name} is a value or a list, not a table", where=where)
    return {**table, name: _set(inner, rest, value, where)}


def _with_sweep(tables: Tables, sweep: Any) -> Tables:
    return {**tables, "sweep": sweep} if "sweep" in tables else tables


def _without_cache(tables: Tables) -> Tables:
    """The tables without the cache, and without sweeps of its fields."""
    sweep = tables.get("sweep")
    for name in swept_fields(sweep):
        if name.startswith("cache."):
            sweep = without_swept(sweep, name)
    return _with_sweep({**tables, "cache": {}}, sweep)


def shown(written: str) -> str:
    """An override in a form that an error may show: the url of a server may contain a password."""
    key, _, _ = written.partition("=")
    return "--set database.url=..." if "".join(key.split()).replace('"', "") == "database.url" else f"--set {written}"


def _field_of(written: str) -> str:
    """The dotted field of `field=value`; empty if the text has none."""
    key, equals, _ = written.partition("=")
    return spell_field(".".join(_key_parts(key))) if equals else ""


def _key_parts(key: str) -> list[str]:
    """The parts of a key, quoted or not; empty if it is not a key."""
    parts = []
    try:
        table = tomllib.loads(f"{key.strip()} = 0")
        while isinstance(table, dict):
            ((part, table),) = table.items()
            parts.append(part)
    except (ValueError, RecursionError):
        return []
    return parts


def _parsed(text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    value = parsed["value"]
    return text if len(parsed) != 1 or isinstance(value, datetime.date | datetime.time) else value


def _value(field: str, text: str) -> Any:
    value = _parsed(text)
    if field in all_fields() and not _fits(field, value) and _fits(field, text):
        return text  # the name of a directory may be 2024
    return value


def _fits(field: str, value: Any) -> bool:
    try:
        resolve_value(field, value)
    except ValueError:
        return False
    return True
