"""Finding a cache's devices where they are now: the kernel names disks anew when it starts, or when one is moved."""

from __future__ import annotations

from dataclasses import replace

from flatwater.cache.identity import find_device, identity_of, is_same
from flatwater.cache.state import CacheState


def located(state: CacheState) -> tuple[CacheState, list[str]]:
    """A resting cache with the paths that its devices have now, and what is to be told. A device that is nowhere keeps
    its path: whoever uses it finds out what is there (`engine.require_pair`).
    """
    told = []
    for role, called in (("fast", "cache device"), ("backing", "backing device")):
        path, kept = getattr(state, role), getattr(state, f"{role}_identity")
        if not kept or is_same(kept, identity_of(path) or {}):
            continue
        found = find_device(kept)
        if found is not None and str(found) != path:
            told.append(f"the {called} of {state.name} is {found} now; it was {path}")
            state = replace(state, fast=str(found)) if role == "fast" else replace(state, backing=str(found))
    return state, told


def identified(state: CacheState) -> CacheState:
    """With what the kernel calls its places now."""
    return replace(
        state, fast_identity=identity_of(state.fast) or {}, backing_identity=identity_of(state.backing) or {}
    )
