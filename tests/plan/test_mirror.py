"""Every class of a plan is what the engine's own struct is: the same fields, types, names and absences.

The engine exports a JSON schema of what each of its doors takes (crates/python/src/schema.rs). A field that either side
gains, loses or retypes fails here.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache as remembered
from typing import Any, Literal, Union

import pytest

from flatwater._engine import cache_policies, plan_schemas
from flatwater.experiment.cache.settings import Settings
from flatwater.experiment.database.login import Login
from flatwater.owned import Identity
from flatwater.plan import cache
from flatwater.plan.emulation import EmulatedDevice
from flatwater.plan.fileio import ModelledFileio, RealFileio
from flatwater.plan.innodb import ModelledDatabase
from flatwater.plan.preparation import Preparation
from flatwater.plan.server import Loading, RealDatabase

#: What the engine's doors take, by the engine's name of it.
DOORS: dict[str, Any] = {
    "RealFileio": RealFileio,
    "RealDatabase": RealDatabase,
    "ModelledFileio": ModelledFileio,
    "ModelledDatabase": ModelledDatabase,
    "Preparation": Preparation,
    "Loading": Loading,
    "Login": Login,
    "Permit": tuple[Identity, ...],
    "EmulatedDevice": EmulatedDevice,
    "CacheServer": cache.CacheServer,
    "Export": cache.Export,
    "Order": cache.Order,
    "CachePlaces": cache.CachePlaces,
    "NewCache": cache.NewCache,
    "CacheSettings": cache.EngineSettings,
}

Schema = Mapping[str, Any]
SCHEMAS: dict[str, Schema] = json.loads(plan_schemas())


def test_every_door_has_a_class() -> None:
    assert set(SCHEMAS) == set(DOORS)


@pytest.mark.parametrize("door", DOORS)
def test_classes_mirror_the_engine(door: str) -> None:
    assert list(differences(DOORS[door], SCHEMAS[door])) == []


def differences(hint: Any, schema: Schema) -> Iterator[str]:
    """How a type differs from an engine's schema, a line for each difference."""
    yield from Comparison(schema).of(hint, schema, getattr(hint, "__name__", str(hint)))


class Comparison:
    """The comparison of one door. A class that is met twice is compared once."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._seen: set[tuple[Any, str]] = set()

    def of(self, hint: Any, schema: Schema, path: str) -> Iterator[str]:
        """The differences of a type, of which `path` is the place."""
        schema = self._resolved(schema)
        absent = _none(hint)
        if absent != _takes_null(schema):
            yield f"{path}: {'may' if absent else 'may not'} be None here, and the engine says the opposite"
            return
        hint, schema = _without_none(hint), self._resolved(_without_null(schema))
        key = (hint, json.dumps(schema, sort_keys=True))
        if key in self._seen:
            return
        self._seen.add(key)
        yield from self._plain(hint, schema, path)

    def _plain(self, hint: Any, schema: Schema, path: str) -> Iterator[str]:
        origin = typing.get_origin(hint)
        if origin is Literal:
            yield from _differ(path, set(typing.get_args(hint)), set(self._words(schema)))
        elif origin in (Union, types.UnionType):
            yield from self._union(hint, schema, path)
        elif hint is cache.EngineSettings:
            yield from self._settings(schema, path)
        elif dataclasses.is_dataclass(hint):
            yield from self._class(hint, schema, path)
        elif origin is tuple:
            yield from self._tuple(typing.get_args(hint), schema, path)
        elif origin is list:
            yield from self._tuple((*typing.get_args(hint), ...), schema, path)
        elif origin in (dict, Mapping):
            yield from self._mapping(typing.get_args(hint), schema, path)
        else:
            names = {int: "integer", float: "number", bool: "boolean", str: "string"}
            yield from _differ(path, names.get(hint, hint), schema.get("type"))

    def _tuple(self, parts: tuple[Any, ...], schema: Schema, path: str) -> Iterator[str]:
        if schema.get("type") != "array":
            yield f"{path}: is a tuple, and the engine's is {schema.get('type')}"
        elif len(parts) == 2 and parts[1] is ...:
            yield from self.of(parts[0], schema.get("items", {}), f"{path}[]")
        else:
            items = schema.get("prefixItems") or [schema.get("items", {})] * schema.get("minItems", 0)
            yield from _differ(f"{path}: number of items", len(parts), len(items))
            for number, (part, item) in enumerate(zip(parts, items, strict=False)):
                yield from self.of(part, item, f"{path}[{number}]")

    def _mapping(self, parts: tuple[Any, ...], schema: Schema, path: str) -> Iterator[str]:
        yield from _differ(path, "object", schema.get("type"))
        values = schema.get("additionalProperties", True)
        if parts[1] is Any or values is True:
            yield from _differ(f"{path}: any values", parts[1] is Any, values is True)
        else:
            yield from self.of(parts[1], values, f"{path}.*")

    def _class(self, hint: type, schema: Schema, path: str) -> Iterator[str]:
        schema = self._flat(schema)
        if schema.get("type") != "object":
            yield f"{path}: is a class, and the engine's is {schema.get('type')}"
            return
        ours, theirs = {one.name: one for one in dataclasses.fields(hint)}, schema.get("properties", {})
        yield from (f"{path}.{name}: the engine does not know it" for name in ours.keys() - theirs.keys())
        yield from (f"{path}.{name}: the engine's, and missing here" for name in theirs.keys() - ours.keys())
        hints = _hints(hint)
        for name in ours.keys() & theirs.keys():
            yield from self.of(hints[name], theirs[name], f"{path}.{name}")
            default = ours[name].default
            is_tag = "const" in theirs[name] or typing.get_origin(hints[name]) is Literal
            if default is dataclasses.MISSING or is_tag:
                continue
            if name in schema.get("required", ()):
                yield f"{path}.{name}: has a default here, and the engine has none"
            elif default != theirs[name].get("default", default):
                yield f"{path}.{name}: is {default} by default, and {theirs[name]['default']} in the engine"

    def _settings(self, schema: Schema, path: str) -> Iterator[str]:
        """The settings of a cache go to the engine as it gave them; what an experiment may say of them is typed."""
        hints, theirs = _hints(Settings), self._flat(schema).get("properties", {})
        yield from _differ(f"{path}: settings", hints.keys() & Settings.model_fields.keys(), theirs.keys())
        for name in hints.keys() & theirs.keys():
            ours = _without_none(hints[name])
            if name == "policy":
                # The engine has a registry of them.
                yield from _differ(path, set(typing.get_args(ours)), {policy for policy, _ in cache_policies()})
                ours = str
            yield from self.of(ours, theirs[name], f"{path}.{name}")

    def _union(self, hint: Any, schema: Schema, path: str) -> Iterator[str]:
        """Variants: classes that a field with one word tells apart, classes of one field, plain words."""
        ours = dict(_variants(hint))
        theirs = {self._tag(one): one for one in self._branches(schema)}
        yield from _differ(f"{path}: variants", set(ours), set(theirs))
        for tag in ours.keys() & theirs.keys():
            if dataclasses.is_dataclass(ours[tag]):
                yield from self.of(_only(ours[tag], tag), theirs[tag], f"{path}({tag[1]})")

    def _branches(self, schema: Schema) -> Iterator[Schema]:
        schema = self._resolved(schema)
        for one in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
            words = list(self._words(one)) if "properties" not in self._flat(one) else []
            yield from ({"const": word, "type": "string"} for word in words) if words else [one]
        if "oneOf" not in schema and "anyOf" not in schema:
            yield schema

    def _tag(self, schema: Schema) -> tuple[str, str]:
        flat = self._flat(schema)
        if "const" in flat:
            return "", flat["const"]
        for name, own in flat.get("properties", {}).items():
            if "const" in own:
                return name, own["const"]
        return next(iter(flat["properties"])), ""

    def _words(self, schema: Schema) -> Iterator[str]:
        schema = self._resolved(schema)
        if "const" in schema:
            yield schema["const"]
        yield from schema.get("enum", ())
        for one in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
            yield from self._words(one)

    def _resolved(self, schema: Schema) -> Schema:
        """The schema that a reference leads to, if it is nothing but one."""
        while "$ref" in schema and not {"properties", "oneOf", "anyOf"} & schema.keys():
            target: Schema = self._root
            for part in schema["$ref"].removeprefix("#").strip("/").split("/"):
                target = target[part] if part else target
            beside = {name: own for name, own in schema.items() if name == "default"}
            schema = {**target, **beside}
        return schema

    def _flat(self, schema: Schema) -> dict[str, Any]:
        """An object with the fields of the one that it refers to."""
        flat = dict(self._resolved(schema))
        parts = [*flat.pop("allOf", ()), *([{"$ref": flat.pop("$ref")}] if "$ref" in flat else ())]
        for part in parts:
            below = self._flat(part)
            flat["properties"] = below.get("properties", {}) | flat.get("properties", {})
            flat["required"] = [*below.get("required", ()), *flat.get("required", ())]
        return flat


def _variants(hint: Any) -> Iterator[tuple[tuple[str, str], Any]]:
    for part in typing.get_args(hint):
        if typing.get_origin(part) is Literal:
            yield from ((("", word), word) for word in typing.get_args(part))
            continue
        hints = _hints(part)
        tags = [(name, own) for name, own in hints.items() if name in ("kind", "name") and _is_word(own)]
        if tags:
            name, own = tags[0]
            yield from (((name, word), part) for word in typing.get_args(own))
        else:
            yield (next(iter(hints)), ""), part


def _is_word(hint: Any) -> bool:
    return typing.get_origin(hint) is Literal


@remembered
def _only(hint: type, tag: tuple[str, str]) -> type:
    """The class of one variant: its tag has one word."""
    name, word = tag
    if not word:
        return hint
    fields = [(one.name, _hints(hint)[one.name], one) for one in dataclasses.fields(hint)]
    own = [(field, Literal[word] if field == name else kind) for field, kind, _ in fields]  # type: ignore[valid-type]
    return dataclasses.make_dataclass(hint.__name__, own)


@remembered
def _hints(hint: type) -> dict[str, Any]:
    return typing.get_type_hints(hint)


def _differ(path: str, ours: Any, theirs: Any) -> Iterator[str]:
    if ours != theirs:
        yield f"{path}: {ours} here, {theirs} in the engine"


def _none(hint: Any) -> bool:
    return typing.get_origin(hint) in (Union, types.UnionType) and type(None) in typing.get_args(hint)


def _without_none(hint: Any) -> Any:
    if not _none(hint):
        return hint
    return Union[tuple(part for part in typing.get_args(hint) if part is not type(None))]  # noqa: UP007


def _takes_null(schema: Schema) -> bool:
    kind = schema.get("type")
    return (isinstance(kind, list) and "null" in kind) or any(
        one.get("type") == "null" for one in schema.get("anyOf", ())
    )


def _without_null(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), list):
        kinds = [kind for kind in schema["type"] if kind != "null"]
        return {**schema, "type": kinds[0], "enum": [one for one in schema.get("enum", ()) if one is not None]}
    others = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return others[0] if len(others) == 1 else schema


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object of a schema that has fields."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema["properties"]
        for own in schema.values():
            yield from _objects(own)
    elif isinstance(schema, list):
        for own in schema:
            yield from _objects(own)


def _changed(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """The schema with one field lost, gained, retyped or made optional: each field of each object in turn."""
    for number, fields in enumerate(_objects(schema)):
        for name in fields:
            for change in ("lost", "gained", "retyped", "optional"):
                copy = json.loads(json.dumps(schema))
                own = list(_objects(copy))[number]
                if change == "lost":
                    del own[name]
                elif change == "gained":
                    own[f"{name}_too"] = own[name]
                elif change == "retyped":
                    own[name] = {"type": "array", "items": {"type": "boolean"}}
                elif not _takes_null(own[name]):
                    own[name] = {"anyOf": [own[name], {"type": "null"}]}
                else:
                    continue
                yield f"{name} {change}", copy


@pytest.mark.parametrize("door", DOORS)
def test_no_change_of_the_engine_goes_unseen(door: str) -> None:
    unseen = [what for what, changed in _changed(SCHEMAS[door]) if not _seen(DOORS[door], changed)]
    assert unseen == []


def _seen(hint: Any, changed: Schema) -> bool:
    try:
        return bool(list(differences(hint, changed)))
    except (KeyError, StopIteration, RuntimeError):
        return True  # a variant without its tag


def test_a_word_of_an_enumeration_is_compared() -> None:
    text = json.dumps(SCHEMAS["ModelledDatabase"])
    for word in ("keep_average", "mariadb-10.11", "ALL_O_DIRECT", "purges", "doublewrite", "d-choices", "relearn"):
        assert f'"{word}"' in text
        assert list(differences(ModelledDatabase, json.loads(text.replace(f'"{word}"', '"other"')))) != [], word
