"""Ctrl-C, SIGTERM and SIGHUP: the first signal asks for a clean end; a second one during that ends at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupt:
    """Whether the user asked to stop: `requested`."""

    def __init__(self) -> None:
        self.requested = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True


@contextmanager
def watch_signals() -> Iterator[Interrupt]:
    """Catches the signals during a run. In another thread than the main one nothing is caught: Python handles signals
    in the main thread only.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    # A signal that is ignored stays ignored: nohup relies on this.
    caught = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt._handle) for number in caught}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
