"""The interface of a storage, and the two roles of a storage under a real cache."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flatwater.owned import Folder
from flatwater.runner.stack.layers.layer import Layer

if TYPE_CHECKING:
    from flatwater.experiment import PlannedCell
    from flatwater.experiment.storage import Storage as StorageFields
    from flatwater.runner.interrupt import Interrupt

#: The name of a device's file in its folder.
CONTENT = "content"


@dataclass(frozen=True)
class Used:
    """The part of a place that the layer above uses: a directory or file, and the file that holds the data."""

    place: Path
    file: Path


class Storage(Layer, ABC):
    """The lowest layer."""

    #: Whether a repeated cell on it gives the same bytes.
    recomputes = False

    @abstractmethod
    def place(self, used: Used | None) -> Path | None:
        """The place of the data, for the machine's description; None if they are in no file of this machine."""

    @abstractmethod
    def text(self, used: Used | None) -> str:
        """The storage in a few words."""


@dataclass(frozen=True)
class Role:
    """One of the two devices of a cache."""

    #: Part of the folder's name: `flatwater-NAME-device`.
    name: str
    #: The user's fields for the place and the size.
    where: str
    size_where: str
    #: The prefix of its series.
    prefix: str


SLOW = Role("cached", "storage.path", "storage.size", "storage.")
FAST = Role("cache", "cache.storage.path", "cache.size", "cache.fast_")


class Device(Storage):
    """A storage as a device of a real cache: one file of a fixed length, in a folder below the user's path."""

    def __init__(self, role: Role) -> None:
        self._role = role
        #: flatwater's folder, after it was opened.
        self._folder: Path | None = None
        #: The file that the cache uses, and its length; known after `open`.
        self.file = Path()
        self.bytes = 0
        #: Whether the content of an earlier cell is still in it.
        self.begun = False

    def turn_to(self, plan: PlannedCell) -> None:
        super().turn_to(plan)
        self.use(plan.experiment.storage)

    @abstractmethod
    def use(self, storage: StorageFields) -> None:
        """Switches to the storage fields of the next cell."""

    @abstractmethod
    def open(self, size: int | None, seed: int, interval_s: float, *, kept: bool) -> None:
        """Makes the file ready; its content stays if `kept`. Errors: UserError, FlatwaterError."""

    @abstractmethod
    def wait_ready(self, interrupt: Interrupt) -> None:
        """Waits until the device can be used. Errors: FlatwaterError, Interrupted."""

    @abstractmethod
    def close(self) -> None:
        """Releases the device. Errors: FlatwaterError."""

    def end_cell(self, logs: Path, *, resumable: bool) -> None:
        self.close()

    def release(self) -> None:
        self.close()

    def remove(self) -> None:
        owned = Folder.find(self._folder, where="storage.path") if self._folder is not None else None
        if owned is not None:
            self._remove_content(owned)
            owned.remove_all()

    def _remove_content(self, owned: Folder) -> None:
        """Deletes files of flatwater that are not in the ledger of the folder."""

    def _open_folder(self, place: str | None) -> Folder:
        """Opens the folder below the user's path; makes it if it is missing. Errors: UserError, FlatwaterError."""
        path = Path(place or "").absolute() / f"flatwater-{self._role.name}-device"
        folder = Folder.open(path, where=self._role.where)
        self._folder = path
        return folder
