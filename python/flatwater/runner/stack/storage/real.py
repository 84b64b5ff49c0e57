"""Real storage: files and block devices of this machine."""

from __future__ import annotations

import os
from pathlib import Path

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import print_size
from flatwater.experiment.storage import Storage as StorageFields
from flatwater.owned import Folder
from flatwater.probe import device_text
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter
from flatwater.runner.stack.layers.layer import Ground
from flatwater.runner.stack.layers.storage import CONTENT, Device, Role, Storage, Used

#: Space that stays free on a file system.
RESERVE_BYTES = 64 << 20


class LocalFiles(Storage):
    """A directory, a file or a block device of the user's, used in place."""

    def place(self, used: Used | None) -> Path | None:
        return used.place if used is not None else None

    def text(self, used: Used | None) -> str:
        assert used is not None, "what stands on it was opened with it"
        return device_text(used.file)

    def ready(self) -> Ground:
        """The files themselves. The layer that uses them checks what it may do there."""
        return Ground(self._cell.files)

    def make(self, reporter: Reporter, interrupt: Interrupt) -> Ground:
        """The files exist already."""
        return self.ready()


class Elsewhere(Storage):
    """The storage of a server that was already running. It is known if the server is on this machine."""

    def place(self, used: Used | None) -> Path | None:
        return used.place if used is not None else None

    def text(self, used: Used | None) -> str:
        return device_text(used.file) if used is not None else "of a server that was running"


class FileDevice(Device):
    """A file that a real cache uses as a device."""

    def __init__(self, role: Role, storage: StorageFields) -> None:
        super().__init__(role)
        self._storage = storage
        self._owned: Folder | None = None

    def use(self, storage: StorageFields) -> None:
        self._storage = storage

    def place(self, used: Used | None) -> Path:
        return Path(self._storage.path or "")

    def text(self, used: Used | None) -> str:
        return device_text(Path(self._storage.path or ""))

    def open(self, size: int | None, seed: int, interval_s: float, *, kept: bool) -> None:
        assert size is not None, "checked before anything runs"
        self._owned = folder = self._open_folder(self._storage.path)
        self.begun = kept and _has(folder, size)
        if not self.begun:
            _make(folder, size, self._role.size_where)
        self.file, self.bytes = folder.path / CONTENT, size

    def wait_ready(self, interrupt: Interrupt) -> None:
        """A file is ready at once."""

    def close(self) -> None:
        owned, self._owned = self._owned, None
        if owned is not None:
            owned.close()


def _has(folder: Folder, size: int) -> bool:
    """Whether the folder has a content file of this size."""
    descriptor = folder.open_file(CONTENT, os.O_RDONLY)
    if descriptor is None:
        return False
    try:
        return os.fstat(descriptor).st_size == size
    finally:
        os.close(descriptor)


def _make(folder: Folder, size: int, where: str) -> None:
    folder.remove(CONTENT)
    free = os.statvfs(folder.path)
    if size + RESERVE_BYTES > free.f_bavail * free.f_frsize:
        what = f"{print_size(size)} do not fit the {print_size(free.f_bavail * free.f_frsize)} free in {folder.path}"
        raise UserError(what, where=where, hint="a smaller size")
    descriptor = folder.make_file(CONTENT)
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        raise FlatwaterError(f"cannot make {folder.path / CONTENT}: {error.strerror}", where=where) from None
    finally:
        os.close(descriptor)
