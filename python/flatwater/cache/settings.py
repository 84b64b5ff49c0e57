"""The settings by name, for help and completion; what they mean and take is the engine's affair."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

#: Presets: the policies of two products.
PRESETS = ("default", "flashcache", "vcache")


def setting_words() -> dict[str, tuple[str, ...]]:
    """The settings, as the engine knows them, with the words that each takes; those of numbers take none."""
    from flatwater._engine import cache_policies, plan_schemas

    schema = json.loads(plan_schemas())["CacheSettings"]
    words = {name: tuple(_words(one, schema)) for name, one in schema["properties"].items()}
    return words | {"policy": tuple(name for name, _ in cache_policies())}


def _words(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
    if schema.get("type") == "boolean":
        yield from ("on", "off")
    yield from schema.get("enum", ())
    yield from (one["const"] for one in schema.get("oneOf", ()))
