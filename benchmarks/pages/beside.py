"""Work in a thread of its own, beside what is measured."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Beside(ABC):
    """It works from the beginning of a block to its end."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._close()

    @abstractmethod
    def _work(self) -> None:
        """What is done until `_ended` is set."""

    @abstractmethod
    def _close(self) -> None:
        """Closes what it had open."""
