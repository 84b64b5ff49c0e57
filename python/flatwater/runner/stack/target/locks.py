"""What a run holds so that nobody else uses the same storage."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from flatwater.errors import UserError


class Locks:
    """Descriptors that hold locks and claims. All targets of a run share them: whoever has one of the targets can let
    everything go that is held now.
    """

    def __init__(self) -> None:
        self._held: list[int] = []

    @property
    def held(self) -> int:
        """How many there are."""
        return len(self._held)

    def lock(self, path: Path, *, exclusive: bool) -> None:
        """Keeps two runs from using the same storage at once. Errors: UserError."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}", where="storage.path") from None
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise UserError(
                f"another flatwater is using {path}", where="storage.path", hint="wait for it, or use another directory"
            ) from None
        self._held.append(descriptor)

    def keep(self, descriptor: int) -> None:
        """Holds what was claimed by others, until `release`."""
        self._held.append(descriptor)

    def release(self) -> None:
        """Lets everything go."""
        while self._held:
            os.close(self._held.pop())
