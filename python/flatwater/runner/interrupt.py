"""Ctrl-C and SIGTERM: the first one asks for a clean end, a second one within it ends at once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupt:
    """Whether the user asked to stop."""

    def __init__(self) -> None:
        self.asked = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def watch_signals() -> Iterator[Interrupt]:
    """Catches the signals while a run is under way."""
    interrupt = Interrupt()
    before = {number: signal.signal(number, interrupt._handle) for number in _SIGNALS}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
