"""The program as a shell starts it, also as `python -m flatwater`: it hears Ctrl-C, SIGTERM and SIGHUP from its first
moment on.

Nothing of flatwater or of others is imported above `main`: that takes most of a short command's time, and a Ctrl-C
meanwhile must not end in a traceback.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

#: What a shell says of a program that Ctrl-C ended: 128 and the number of the signal.
_INTERRUPTED = 128 + signal.SIGINT
#: A signal that comes again so soon is the same one: whoever runs a program for others (make, `uv run`) passes on what
#: the terminal has sent already.
_SAME_S = 1.0
#: How long a callback that cannot raise has to end, before the signal comes again.
_AGAIN_S = 0.01


class _Ending:
    """A handler as Python's own, which remembers that it was called: some libraries turn the exception into theirs."""

    def __init__(self) -> None:
        self.came = False
        self._at_s = -_SAME_S

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now_s = time.monotonic()
        if now_s - self._at_s >= _SAME_S:
            self.came, self._at_s = True, now_s
            raise KeyboardInterrupt

    def take(self) -> None:
        """From now on the signals come here. What whoever started the program ignores (nohup, `&`) stays ignored."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
                signal.signal(number, self)
        sys.unraisablehook = self.unraisable

    def release(self) -> None:
        """Nothing is left to be saved: another signal ends the process without a word."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is self:
                signal.signal(number, lambda *_: os._exit(_INTERRUPTED))

    def unraisable(self, lost: UnraisableHookArgs) -> None:
        """Python calls this where an exception cannot go on (a finaliser, a callback of a weak reference)."""
        if isinstance(lost.exc_value, KeyboardInterrupt):
            self._at_s = -_SAME_S
            _thread.start_new_thread(_send_again, ())
        else:
            sys.__unraisablehook__(lost)


def _send_again() -> None:
    time.sleep(_AGAIN_S)
    os.kill(os.getpid(), signal.SIGINT)


def main() -> None:
    """Runs the command line, and exits with its code."""
    ending = _Ending()
    try:
        ending.take()
        from flatwater.cli import main as run

        run()
    except Exception:
        if not ending.came:
            raise
    except KeyboardInterrupt:
        pass
    finally:
        ending.release()
    print("error: interrupted", file=sys.stderr)
    sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
