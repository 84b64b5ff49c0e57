"""The interface of a cache to the stack."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

from flatwater.runner.stack.layers.layer import Layer


class Cache(Layer):
    """A layer between the storage and the layers above."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The cache and its device in a few words; empty in a cell without a cache."""

    @property
    def place(self) -> Path | None:
        """The place of the cache's device on this machine; None if it has none, or a modelled one."""
        return None
