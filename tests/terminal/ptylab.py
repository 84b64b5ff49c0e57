"""A program on a terminal of its own, whose size a test decides."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

FLATWATER = [sys.executable, "-c", "from flatwater.cli import main; main()"]
#: For what hangs; no test waits for it.
PATIENCE_S = 240.0
#: A load that a small file serves, and that tells of itself ten times a second.
FILEIO = """\
name = "load"
[workload]
kind = "fileio"
mode = "rndrw"
engine = "psync"
rate_per_s = 200
duration_s = {duration_s}
[record]
interval_s = 0.1
[storage]
kind = "file"
path = "."
size = "4MiB"
"""
#: A sequence that a terminal acts upon: of colours, of places, and of titles.
_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07)")


class OnTerminal:
    """A program whose standard error, and standard output unless it is a pipe, are a terminal."""

    def __init__(
        self, arguments: Sequence[str], cwd: Path, *, size: tuple[int, int] = (120, 40), pipe: bool = False, **env: str
    ) -> None:
        """`size`: columns and lines. `pipe`: standard output is read by a program instead."""
        self._ours, theirs = pty.openpty()
        self.resize(*size)
        kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = subprocess.Popen(
            [*FLATWATER, *arguments],
            cwd=cwd,
            stdin=theirs,
            stdout=subprocess.PIPE if pipe else theirs,
            stderr=theirs,
            env={**kept, "TERM": "xterm-256color", "PYTHONUTF8": "1", **env},
        )
        os.close(theirs)
        self._drawn = b""
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        while True:
            try:
                some = os.read(self._ours, 65536)
            except OSError:  # the other end is closed
                return
            if not some:
                return
            self._drawn += some

    def __enter__(self) -> OnTerminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self._thread.join(PATIENCE_S)
        os.close(self._ours)

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    @property
    def raw(self) -> str:
        """All that was drawn so far, with what a terminal acts upon."""
        return self._drawn.decode(errors="replace")

    @property
    def text(self) -> str:
        """All that was drawn so far, as text."""
        return _SEQUENCE.sub("", self.raw)

    def until(self, seen: str | Callable[[str], object], after: int = 0) -> int:
        """Waits until something is drawn; returns how much of the text there is then."""
        end_s = time.monotonic() + PATIENCE_S
        while True:
            text = self.text
            if (seen in text[after:]) if isinstance(seen, str) else seen(text[after:]):
                return len(text)
            assert time.monotonic() < end_s and self.process.poll() is None, text[-3000:]
            time.sleep(0.02)

    def end(self) -> int:
        """Waits for the end; returns the exit code."""
        code = self.process.wait(PATIENCE_S)
        self._thread.join(PATIENCE_S)
        return code
