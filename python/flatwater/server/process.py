"""A server's process: starts without a terminal, dies with flatwater, and is watched for progress."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from flatwater.errors import FlatwaterError

#: How often a process that starts or stops is polled, seconds.
POLL_S = 0.02
#: A server that shows no progress for this long is taken to hang: MySQL and MariaDB report progress of recovery every
#: 15 s.
PATIENCE_S = 300.0

#: Is called about once a second while a process is waited for, with the seconds so far.
OnWait = Callable[[float], None]

# Asks the kernel to kill this process when its parent dies, and then becomes the server. It is a program of its own,
# because between fork and exec a process with threads (the engine has many) may only call what is safe in a signal
# handler, which Python is not. Its process ID becomes the server's. The request survives exec, because the server does
# not change its user. Arguments: the parent's process ID, then the command. 1 = PR_SET_PDEATHSIG (linux/prctl.h).
_SHIM = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
if os.getppid() != int(sys.argv[1]):
    sys.exit("flatwater is gone")
for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
    signal.signal(number, signal.SIG_DFL)
os.execv(sys.argv[2], sys.argv[2:])
"""

# The kernel sends that signal when the *thread* that forked ends. So one thread, which exists as long as flatwater,
# starts all servers.
_STARTING_THREAD = ThreadPoolExecutor(max_workers=1, thread_name_prefix="flatwater-servers")


class ServerProcess:
    """The process of a server. It has a session of its own: Ctrl-C in the terminal reaches only flatwater."""

    def __init__(
        self, command: Sequence[str], folder: Path, log: Path, tmp: Path | None = None, reads: Path | None = None
    ) -> None:
        """Starts `command` (the program's absolute path first) in `folder`; its output is appended to `log`.

        `tmp` is its folder for temporary tables. If servers shared one, each start would delete the others' tables.
        `reads` is the file that is its standard input; None: nothing.
        """
        shim = [sys.executable, "-I", "-S", "-c", _SHIM, str(os.getpid()), *command]
        try:
            with log.open("ab") as output, (reads or Path(os.devnull)).open("rb") as source:
                self._log = log
                self._process = _STARTING_THREAD.submit(
                    lambda: subprocess.Popen(
                        shim,
                        stdin=source,
                        stdout=output,
                        stderr=output,
                        cwd=folder,
                        start_new_session=True,
                        env={"LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath)}
                        | ({"TMPDIR": str(tmp)} if tmp is not None else {})
                        | _library_path(),
                    )
                ).result()
        except OSError as error:
            raise FlatwaterError(f"cannot start {command[0]}: {error.strerror}") from None

    @property
    def pid(self) -> int:
        """The server's process ID."""
        return self._process.pid

    def exit_code(self) -> int | None:
        """None while it runs; the negative number of the signal if it was killed."""
        return self._process.poll()

    def send(self, number: signal.Signals) -> None:
        """Sends a signal, unless the process is gone."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kills it and all processes that it started, and waits until it is gone."""
        if self.exit_code() is None:
            # It was not waited for yet, so no other process group can have its number.
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def wait_while_progress(self, done: Callable[[], bool], patience_s: float, on_wait: OnWait | None = None) -> bool:
        """Waits until `done()` or the process ends; False if it showed no progress for `patience_s` seconds.

        Progress is a longer error log, or more bytes read or written: recovery, and flushing before a stop, may take
        minutes. `on_wait` is called about once a second.
        """
        started = progressed = polled = time.monotonic()
        last = self._work_so_far()
        while not done() and self.exit_code() is None:
            time.sleep(POLL_S)
            now = time.monotonic()
            if now - polled >= 1:
                polled = now
                if on_wait is not None:
                    on_wait(now - started)
                work = self._work_so_far()
                if work != last:
                    last, progressed = work, now
                elif now - progressed > patience_s:
                    return False
        return True

    def _work_so_far(self) -> tuple[int, str]:
        """The length of its log and the kernel's counters of its IO. Both only grow."""
        try:
            size = self._log.stat().st_size
        except OSError:
            size = 0
        try:
            return size, Path(f"/proc/{self.pid}/io").read_text()
        except OSError:
            return size, ""


def _library_path() -> dict[str, str]:
    """The variables of the environment that a server gets: with them, servers of tarballs find their libraries."""
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "LD_PRELOAD", "TZ") if name in os.environ}


def describe_exit(code: int) -> str:
    """`was killed by signal 9 (SIGKILL)`, or `exited with code 1`."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    return f"was killed by signal {-code} ({name})"
