"""Locks of a run on its storage, so that no other run uses it."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

from flatwater.errors import UserError


class Locks:
    """File descriptors that hold locks and claims. All targets of a run share them, so that each can release all."""

    def __init__(self) -> None:
        self._held: list[int] = []

    @property
    def held(self) -> int:
        """The number of held descriptors."""
        return len(self._held)

    def lock(self, path: Path, *, exclusive: bool) -> None:
        """Locks a path, so that no other run uses it at the same time. Errors: UserError."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}", where="storage.path") from None
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except OSError as error:
            # NFS gives an exclusive lock only to who has opened the file for writing (nfs_flock of Linux). Who writes
            # claims the file besides, which is such a lock.
            if error.errno != errno.EBADF:
                os.close(descriptor)
                raise UserError(
                    f"another flatwater is using {path}",
                    where="storage.path",
                    hint="wait for it, or use another directory",
                ) from None
        self._held.append(descriptor)

    def keep(self, descriptor: int) -> None:
        """Keeps the descriptor of a claim until `release`."""
        self._held.append(descriptor)

    def release(self) -> None:
        """Releases all locks and claims."""
        while self._held:
            os.close(self._held.pop())
