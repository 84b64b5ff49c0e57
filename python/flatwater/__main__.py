"""The program as a shell starts it, also as `python -m flatwater`: it hears Ctrl-C from its first moment on.

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
#: How long a callback that cannot raise has to end, before the signal comes again.
_AGAIN_S = 0.01


class _CtrlC:
    """Python's own handler, which remembers that it was called: some libraries turn the exception into their own."""

    def __init__(self) -> None:
        self.came = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt

    def unraisable(self, lost: UnraisableHookArgs) -> None:
        """Python calls this where an exception cannot go on (a finaliser, a callback of a weak reference)."""
        if isinstance(lost.exc_value, KeyboardInterrupt):
            _thread.start_new_thread(_send_again, ())
        else:
            sys.__unraisablehook__(lost)


def _send_again() -> None:
    time.sleep(_AGAIN_S)
    os.kill(os.getpid(), signal.SIGINT)


def main() -> None:
    """Runs the command line, and exits with its code."""
    ctrl_c = _CtrlC()
    try:
        # Whoever started it with Ctrl-C ignored (nohup, `&` in a script) means it.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, ctrl_c)
            sys.unraisablehook = ctrl_c.unraisable
        from flatwater.cli import main as run

        run()
    except Exception:
        if not ctrl_c.came:
            raise
    except KeyboardInterrupt:
        pass
    finally:
        # Nothing is left to be saved: another Ctrl-C ends the process without a word.
        if signal.getsignal(signal.SIGINT) is ctrl_c:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    print("error: interrupted", file=sys.stderr)
    sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
