"""The signals that a test's processes begin with: those of a program that was started in a terminal.

A shell starts what it puts into the background (`make test &` in a script) with SIGINT ignored, `nohup` does so with
SIGHUP, and a parent may have blocked any. Every program that a test starts inherits that, and flatwater keeps to it on
purpose (`runner/interrupt.py`): Ctrl-C would reach nothing.
"""

from __future__ import annotations

import signal
from types import FrameType

#: What a terminal, its user and a service manager send.
TOLD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def start_children_with_default_signals() -> None:
    """What this process starts from now on hears the signals of a terminal; the process itself stays as it was born.

    A program keeps through its exec what it ignores, but not what it handles: so what is ignored here is handled, by
    nothing.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, TOLD)
    for number in TOLD:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _stay_deaf)


def _stay_deaf(number: int, frame: FrameType | None) -> None:
    pass
