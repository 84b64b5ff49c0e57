"""Who opens a file: the kernel tells of every open, whichever library does it (inotify)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OPEN, _NONBLOCK = 0x20, 0x800
_EVENT_BYTES = 16
_libc = ctypes.CDLL(None, use_errno=True)


class Watched:
    """A file that is watched."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @property
    def opened(self) -> bool:
        """Whether somebody opened it since this was asked last."""
        try:
            return len(os.read(self._descriptor, 4096)) >= _EVENT_BYTES
        except BlockingIOError:
            return False


@contextmanager
def watched(path: Path) -> Iterator[Watched]:
    """Watches a file that is there."""
    descriptor = _libc.inotify_init1(_NONBLOCK)
    assert descriptor >= 0, os.strerror(ctypes.get_errno())
    try:
        assert _libc.inotify_add_watch(descriptor, os.fsencode(path), _OPEN) >= 0, os.strerror(ctypes.get_errno())
        yield Watched(descriptor)
    finally:
        os.close(descriptor)
