"""The cache layer: a fast device in front of a slow one. One class a kind, met in KINDS.

none.py      no cache
flash.py     the flash cache: its device, its size; settings.py what can be said of it while it serves
storage.py   the fast device's own table
"""

from __future__ import annotations

from flatwater.experiment.cache.flash import BLOCK_SIZES, FlashCache
from flatwater.experiment.cache.none import NoCache
from flatwater.experiment.layer import Layer

__all__ = ["BLOCK_SIZES", "KINDS", "PLANNED", "Cache", "FlashCache", "NoCache"]

#: Any cache: `kind` decides which.
Cache = NoCache | FlashCache

#: Every kind of cache that works.
KINDS: dict[str, type[Layer]] = {"none": NoCache, "flash": FlashCache}
#: Kinds of the design that are not built yet.
PLANNED: tuple[str, ...] = ()
