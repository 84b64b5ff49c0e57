"""A flash cache in virtual time, in front of a modelled device."""

from __future__ import annotations

from flatwater.experiment.storage.text import storage_text
from flatwater.runner.stack.layers.cache import Cache


class ModelledCache(Cache):
    """A cache that the engine computes."""

    @property
    def text(self) -> str:
        cache = self._cell.flash_cache
        return "" if cache is None else f"{cache.text}, on {storage_text(cache.storage)}"
