"""Claiming both devices of a stopped cache while a command works on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from flatwater.cache.state import CacheState
from flatwater.errors import UserError
from flatwater.place import claim, open_place, require_unused


@contextmanager
def claimed(state: CacheState) -> Iterator[None]:
    """Claims both devices. Errors: UserError if one of them is gone or in use."""
    with ExitStack() as undo:
        for path, where in ((state.fast, "FAST"), (state.backing, "BACKING")):
            place = open_place(path, where)
            if place is None:
                raise UserError(f"{path} is gone", where=where, hint="is its device there, is it mounted?")
            require_unused(place, where)
            undo.callback(os.close, claim(place, where))
        yield
