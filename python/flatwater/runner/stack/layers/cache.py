"""What a cache is to the stack."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

from flatwater.runner.stack.layers.layer import Layer


class Cache(Layer):
    """A layer between the storage and whatever stands on it."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The cache and its device in a few words; empty in a cell that is without it."""

    @property
    def place(self) -> Path | None:
        """Where its own device is on this machine; None where it has none, or a modelled one."""
        return None
