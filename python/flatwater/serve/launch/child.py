"""One run that this server started, as a process of its own: started, asked to end, and what it said."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from flatwater.printing import printable
from flatwater.serve.folders import key_of

#: Of what a run said, this much of the end is shown.
SAID_BYTES = 16 * 1024
#: The run is as one from a terminal: Ctrl-C is heard also where this server was told to ignore it, and it may open as
#: many files as this server could before it took more for its viewers.
_PROGRAM = """\
import resource, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
resource.setrlimit(resource.RLIMIT_NOFILE, {limit})
from flatwater.cli import main
main()
"""


@dataclass(eq=False)
class Child:
    """A run and its process. Its methods may be called from any thread.

    Whether the process has ended is asked in one place, under a lock: until it answers so, the number of the process is
    nobody else's, and no signal goes to another one.
    """

    folder: Path
    title: str
    #: Whether something of this machine is measured.
    real: bool
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    #: The lines of `--set` that it was started with.
    lines: tuple[str, ...] = ()
    #: It was asked to end.
    stopping: bool = False
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def key(self) -> str:
        """The key of its result."""
        return key_of(self.folder)

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        with self._lock:
            return self.process.poll()

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self.code is None

    @property
    def state(self) -> str:
        """How it stands, in words."""
        code = self.code
        if code is None:
            return "it is asked to end" if self.stopping else "it runs"
        told = {0: "it is over", 1: "it failed", 2: "it was refused", 130: "it was interrupted"}
        return told.get(code, f"it ended with {code}" if code > 0 else f"signal {-code} ended it")

    def interrupt(self) -> None:
        """Ctrl-C: the first asks for a clean end, one more during that ends at once. Nothing if it has ended."""
        with self._lock:
            if self.process.poll() is None:
                self.stopping = True
                self.process.send_signal(signal.SIGINT)

    def wait(self) -> None:
        """Waits until it has ended. The number of the process stays its own meanwhile (WNOWAIT)."""
        with suppress(ChildProcessError):  # it has ended, and somebody asked
            os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        assert self.code is not None

    def said(self) -> str:
        """The end of what it printed."""
        size = os.fstat(self.output.fileno()).st_size
        text = os.pread(self.output.fileno(), SAID_BYTES, max(0, size - SAID_BYTES)).decode(errors="replace")
        return "\n".join(printable(line) for line in text.split("\n")).strip()

    def close(self) -> None:
        """Lets what it printed go."""
        with suppress(OSError):
            self.output.close()


def open_files() -> tuple[int, int]:
    """How many files this process may open: (now, at most)."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def start(
    file: Path,
    lines: Sequence[str],
    folder: Path,
    *,
    title: str,
    real: bool,
    limit: tuple[int, int],
    resume: bool = False,
) -> Child:
    """Starts `flatwater run` of an experiment of the library into a new folder; `resume`: into that of an earlier run.

    Errors: OSError. It has the priority of the thread that calls this.
    """
    program = _PROGRAM.format(limit=limit)
    # Each line is one argument, with its option in it: no line becomes an option of its own.
    options = [f"--set={line}" for line in lines]
    options += ["--resume"] if resume else []
    command = [sys.executable, "-P", "-c", program, "run", str(file), f"--out={folder}", *options]
    # A file, and no pipe: if this server is killed, the run goes on as it would after `nohup`.
    output = tempfile.TemporaryFile()  # noqa: SIM115 - the child's, until it is forgotten
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Ctrl-C in the terminal of this server is passed on by it, once.
            start_new_session=True,
        )
    except OSError:
        output.close()
        raise
    return Child(folder, title, real, process, output, tuple(lines))
