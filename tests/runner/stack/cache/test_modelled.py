"""A modelled cache on any model: what it adds to the layer below."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3] / "experiment" / "cache"))
from caches import write

from flatwater.experiment import cell_at, load
from flatwater.experiment.device import Use
from flatwater.runner.stack.cache.modelled import ModelledCache
from flatwater.runner.stack.layers.layer import Layer, as_model


class Below(Layer):
    """A layer of which only what a model is asked is known."""

    def notes(self, use: Use) -> list[str]:
        return [f"it has units of {use.align_bytes} B"]

    def memory_bytes(self, use: Use) -> int:
        return 1000


USE = Use(align_bytes=512)


def cache_of(folder: Path, **fields: Any) -> ModelledCache:
    cache = ModelledCache(as_model(Below()))
    cache.turn_to(cell_at(load(write(folder, {"size": "64MiB", **fields})), 0))
    return cache


def test_it_adds_its_own_to_what_is_below(tmp_path: Path) -> None:
    cache = cache_of(tmp_path)
    assert cache.notes(USE)[0] == "it has units of 512 B"
    assert all(note.startswith("the cache's device: ") for note in cache.notes(USE)[1:])
    assert cache.memory_bytes(USE) > 1000
    assert cache.text.startswith("flash cache of 64 MiB, on The fast appliance")


def test_a_cell_without_it_is_what_is_below(tmp_path: Path) -> None:
    cache = cache_of(tmp_path, enabled=False)
    assert (cache.notes(USE), cache.memory_bytes(USE), cache.text) == (["it has units of 512 B"], 1000, "")


def test_a_cache_stands_on_a_cache(tmp_path: Path) -> None:
    upper, lower = ModelledCache(as_model(cache_of(tmp_path))), cache_of(tmp_path)
    upper.turn_to(cell_at(load(write(tmp_path, {"size": "64MiB"})), 0))
    own = lower.memory_bytes(USE) - 1000
    assert upper.memory_bytes(USE) == 1000 + 2 * own
