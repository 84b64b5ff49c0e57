"""Finding the devices of a cache under their present names: the kernel may rename disks at each boot."""

from __future__ import annotations

from dataclasses import replace

from flatwater.cache.identity import find_device, identity_of, is_same
from flatwater.cache.state import CacheState


def located(state: CacheState) -> tuple[CacheState, list[str]]:
    """A stopped cache with the present paths of its devices, and notes on those that changed.

    A device that is not found keeps its path: `engine.require_pair` then checks what is there.
    """
    notes = []
    for role, called in (("fast", "cache device"), ("backing", "backing device")):
        path, kept = getattr(state, role), getattr(state, f"{role}_identity")
        if not kept or is_same(kept, identity_of(path) or {}):
            continue
        found = find_device(kept)
        if found is not None and str(found) != path:
            notes.append(f"the {called} of {state.name} is {found} now; it was {path}")
            state = replace(state, fast=str(found)) if role == "fast" else replace(state, backing=str(found))
    return state, notes


def identified(state: CacheState) -> CacheState:
    """The state with the present identities of both devices."""
    return replace(
        state, fast_identity=identity_of(state.fast) or {}, backing_identity=identity_of(state.backing) or {}
    )
