"""The settings by name, for help and completion; what they mean and take is the engine's affair."""

from __future__ import annotations

import json

#: Presets: the policies of two products.
PRESETS = ("default", "flashcache", "vcache")

#: Settings that take one of a few words.
WORDS: dict[str, tuple[str, ...]] = {
    "mode": ("write-back", "write-through", "write-around", "write-only"),
    "policy": ("s3-fifo", "lru", "fifo", "flashcache"),
    "admission": ("all", "second-hit"),
    "acknowledge": ("written", "journaled"),
    "ordered": ("on", "off"),
    "verify": ("on", "off"),
}


def setting_names() -> list[str]:
    """As the engine knows them."""
    from flatwater._engine import cache_settings

    return list(json.loads(cache_settings(None, [])))
