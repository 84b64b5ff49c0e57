"""Reads one table of a file as a typed value. Each problem names its field.

A table with problems is read again without the wrong fields, so that later stages can check the rest.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from flatwater.experiment.fields import fields_in, unknown_entry_hint
from flatwater.experiment.kinds import Kinds
from flatwater.experiment.parse import Tables
from flatwater.experiment.problem import Problem, Table, explain_error
from flatwater.experiment.stage import Read
from flatwater.spelling import nearest

Kind = TypeVar("Kind", bound=Table)


def read_table(
    model: type[Kind],
    place: str,
    table: Any,
    kinds: Kinds,
    *,
    siblings: Sequence[str] = (),
    stand_ins: Mapping[str, Any] | None = None,
) -> Read[Kind | None]:
    """Reads the table at a dotted place of the file. The value is None if no part of it can be used.

    `siblings` are further names for the hint about an unknown one, in addition to the model's. `stand_ins` are values
    for required fields that are missing or wrong.
    """
    try:
        return Read(model.model_validate(table, context=kinds))
    except ValidationError as error:
        details = error.errors(include_url=False)
    problems = tuple(_problem(one, place, _beside(model, one, siblings), kinds) for one in details)
    left_out = frozenset(problem.field for problem in problems)
    if not isinstance(table, Mapping):
        return Read(None, problems, left_out)
    left_out |= {".".join(filter(None, (place, name))) for name in _meant(model, table, details, siblings)}
    try:
        sound = {**(stand_ins or {}), **_sound(model, table, details)}
        left_out |= {".".join(filter(None, (place, name))) for name in _gone(table, sound)}
        return Read(model.model_validate(sound, context=kinds), problems, left_out)
    except ValidationError:
        return Read(None, problems, left_out)


def reset_fields(table: Kind, fields: Iterable[str]) -> Kind:
    """The table with these fields reset to their defaults. The names are dotted from the table."""
    changes: dict[str, object] = {}
    for field in fields:
        name, _, inner = field.partition(".")
        value = changes.get(name, getattr(table, name))
        if inner and isinstance(value, Table):
            changes[name] = reset_fields(value, [inner])
        elif inner and isinstance(value, dict) and inner in value:
            changes[name] = {entry: its for entry, its in value.items() if entry != inner}
        elif not (info := type(table).model_fields[name]).is_required():
            changes[name] = info.get_default(call_default_factory=True)
    return table.model_copy(update=changes)


def moved_below(place: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    """The problems of a table, with their fields dotted from the experiment."""
    for problem in problems:
        yield replace(problem, field=f"{place}.{problem.field.removeprefix(f'{place}.')}")


def _beside(model: type[BaseModel], error: ErrorDetails, siblings: Sequence[str]) -> list[str]:
    """The fields of the table that a wrong field is in: of the model itself, or of a table within a table of it."""
    found: Any = model
    for part in error["loc"][:-1]:
        inside = found.model_fields[part].annotation if _is_model(found) and part in found.model_fields else found
        options = [inside, *get_args(inside)]
        # A table of tables (`[thresholds.metrics]`) has its entries' names where others have a field's.
        found = next((one for one in options if _is_model(one)), None)
        if found is None:
            return [*model.model_fields, *siblings]
    return list(found.model_fields) if found is not model else [*model.model_fields, *siblings]


def _is_model(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _problem(error: ErrorDetails, place: str, siblings: Sequence[str], kinds: Kinds) -> Problem:
    """A pydantic error in the words of the file."""
    parts = ([place] if place else []) + [str(part) for part in error["loc"] if part != "[key]"]
    field = ".".join(parts)
    what, hint = explain_error(error)
    if error["type"] == "extra_forbidden":
        table, _, name = field.rpartition(".")
        hint = unknown_entry_hint(table, name, fields_in(table, kinds) or siblings, kinds)
    return Problem(field, what, hint, tuple(error.get("ctx", {}).get("rests_on", ())))


def _sound(model: type[BaseModel], table: Mapping[str, Any], errors: Iterable[ErrorDetails]) -> Tables:
    """The table without its errors: without a whole field, or without one entry of a field that allows it."""
    sound = dict(table)
    for error in errors:
        name, *inner = (str(part) for part in error["loc"])
        value = sound.get(name)
        if inner and isinstance(value, Mapping) and _may_lack(model, name, inner[0]):
            # A name with dots may be one key of the table.
            gone = {inner[0], ".".join(inner)}
            sound[name] = {entry: its for entry, its in value.items() if entry not in gone}
        else:
            sound.pop(name, None)
    return sound


def _gone(table: Mapping[str, object], sound: Mapping[str, object]) -> Iterator[str]:
    """The fields that went whole, and the entries of tables: with a wrong part of them goes what is right."""
    for name, value in table.items():
        kept = sound.get(name)
        if name not in sound:
            yield str(name)
        elif isinstance(value, Mapping) and isinstance(kept, Mapping):
            yield from (f"{name}.{entry}" for entry in value if entry not in kept)


def _meant(
    model: type[BaseModel], table: Mapping[str, object], errors: Iterable[ErrorDetails], siblings: Sequence[str]
) -> Iterator[str]:
    """The fields whose names are misspelt, as it seems: nobody meant their defaults."""
    for error in errors:
        name, *inner = (str(part) for part in error["loc"])
        if error["type"] == "extra_forbidden" and not inner:
            meant = nearest(name, _beside(model, error, siblings))
            if meant is not None and meant not in table:
                yield meant


def _may_lack(model: type[BaseModel], name: str, entry: str) -> bool:
    """Whether a field that is a table stays valid without one of its entries."""
    info = model.model_fields.get(name)
    if info is None:
        return False
    annotation = info.annotation
    parts = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    for part in parts:
        if isinstance(part, type) and issubclass(part, BaseModel):
            inner = part.model_fields.get(entry)
            if inner is not None and inner.is_required():
                return False
        elif get_origin(part) is not dict and part is not type(None):
            return False
    return True
