"""Names and words of the settings, for help and completion. The engine defines and checks them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

#: Presets: flatwater's own, and the policies of two products.
PRESETS = ("default", "flashcache", "vcache")


def setting_words() -> dict[str, tuple[str, ...]]:
    """The settings of the engine, with the words that each accepts; none for a number."""
    from flatwater._engine import cache_policies, plan_schemas

    schema = json.loads(plan_schemas())["CacheSettings"]
    words = {name: tuple(_words(field, schema)) for name, field in schema["properties"].items()}
    return words | {"policy": tuple(name for name, _ in cache_policies())}


def _words(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
    if schema.get("type") == "boolean":
        yield from ("on", "off")
    yield from schema.get("enum", ())
    yield from (choice["const"] for choice in schema.get("oneOf", ()))
