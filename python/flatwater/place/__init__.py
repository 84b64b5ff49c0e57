"""Checks of a user's file or block device before anything is written to it, and the claim that keeps others out.

The checks find what it is, who uses it and what it contains. Runs, emulated devices and caches all use them, so that
none of them destroys what another refuses.
"""

from flatwater.place.claim import claim
from flatwater.place.contents import contents
from flatwater.place.place import Place, look_at, open_place, overlap, require_space
from flatwater.place.users import require_unused, users

__all__ = ["Place", "claim", "contents", "look_at", "open_place", "overlap", "require_space", "require_unused", "users"]
