"""Ctrl-C, SIGTERM and a closed terminal: the first one asks for a clean end, a second one within it ends at once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
    # What is ignored stays so: that is how nohup works.
    heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt._handle) for number in heard}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
