"""The cache layer: a fast device in front of a slow one. One class for each kind; KINDS has all.

none.py      no cache
flash.py     the flash cache: its device and its size; settings.py has the settings that can change while it serves
storage.py   the table of the fast device
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
