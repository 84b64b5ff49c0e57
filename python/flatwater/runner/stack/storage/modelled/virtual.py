"""A modelled device in virtual time: it uses only processors and memory of this machine."""

from __future__ import annotations

from flatwater.experiment.device import Use
from flatwater.experiment.storage.text import storage_text
from flatwater.runner.resuming import Left
from flatwater.runner.stack.layers.storage import Storage, Used


class VirtualDevice(Storage):
    """A device that the engine computes."""

    recomputes = True

    def take_up(self, left: Left) -> str | None:
        return "a modelled cell is computed anew, and gives the same"

    def place(self, used: Used | None) -> None:
        return None

    def text(self, used: Used | None) -> str:
        return storage_text(self._cell.storage) or ""

    def notes(self, use: Use) -> list[str]:
        """The differences between the model and the device."""
        return self._cell.modelled.modelled_device.notes(use)

    def memory_bytes(self, use: Use) -> int:
        """Memory of the model."""
        return self._cell.modelled.modelled_device.memory_bytes(use)
