"""A file or a block device of the user's, before anything is written to it: what it is, who uses it, what it holds, and
the claim that keeps others out.

Runs, emulated devices and caches all ask here, so that what one of them refuses no other destroys.
"""

from flatwater.place.claim import claim
from flatwater.place.contents import contents
from flatwater.place.place import Place, look_at, open_place, overlap, require_space
from flatwater.place.users import require_unused, users

__all__ = ["Place", "claim", "contents", "look_at", "open_place", "overlap", "require_space", "require_unused", "users"]
