"""What a storage is to the stack, and the two roles that a storage can have under a real cache."""

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

#: What a device holds, in its folder.
CONTENT = "content"


@dataclass(frozen=True)
class Used:
    """What the layer above uses of a place: a directory or file of it, and the file that its bytes go to."""

    place: Path
    file: Path


class Storage(Layer, ABC):
    """The lowest layer."""

    #: Whether a cell on it that is run again gives the same bytes.
    recomputes = False

    @abstractmethod
    def place(self, used: Used | None) -> Path | None:
        """Where the bytes go, for the machine's description; None when they go to no file of this machine."""

    @abstractmethod
    def text(self, used: Used | None) -> str:
        """The storage in a few words."""


@dataclass(frozen=True)
class Role:
    """Which of a cache's two devices a storage is."""

    #: Names its folder, `flatwater-NAME-device`.
    name: str
    #: The user's fields for its place and its length.
    where: str
    size_where: str
    #: How the names of its series begin.
    prefix: str


SLOW = Role("cached", "storage.path", "storage.size", "storage.")
FAST = Role("cache", "cache.storage.path", "cache.size", "cache.fast_")


class Device(Storage):
    """A storage as a real cache uses it: one file of a known length, which stays in a folder of ours below the user's
    path.
    """

    def __init__(self, role: Role) -> None:
        self._role = role
        #: Our folder, once it was open.
        self._folder: Path | None = None
        #: What the cache uses, and how long it is; once it is open.
        self.file = Path()
        self.bytes = 0
        #: Whether its content goes on from an earlier cell.
        self.begun = False

    def turn_to(self, plan: PlannedCell) -> None:
        super().turn_to(plan)
        self.use(plan.experiment.storage)

    @abstractmethod
    def use(self, storage: StorageFields) -> None:
        """Goes to the next cell, whose fields are given."""

    @abstractmethod
    def open(self, size: int | None, seed: int, interval_s: float, *, kept: bool) -> None:
        """Makes it ready; what is on it goes on if `kept`. Errors: UserError, FlatwaterError."""

    @abstractmethod
    def wait_ready(self, interrupt: Interrupt) -> None:
        """Until it can be used. Errors: FlatwaterError, Interrupted."""

    @abstractmethod
    def close(self) -> None:
        """Lets it go. Errors: FlatwaterError."""

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
        """Deletes what the folder's ledger does not know, and is ours all the same."""

    def _open_folder(self, place: str | None) -> Folder:
        """Our folder below a place of the user's, made if it is not there. Errors: UserError, FlatwaterError."""
        path = Path(place or "").absolute() / f"flatwater-{self._role.name}-device"
        folder = Folder.open(path, where=self._role.where)
        self._folder = path
        return folder
