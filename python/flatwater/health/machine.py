"""What health is read from: the folders of the kernel, the programs that are installed, and devices that are opened.

All reading goes through one `Machine`, so that a test can put recorded folders and programs in the place of real ones.
Nothing is written, and no program is given anything but a question.
"""

from __future__ import annotations

import fcntl
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: More than this of a program's output is not read: smartctl's longest reports are some 100 KB.
OUTPUT_BYTES_MAX = 4 << 20
#: More than this of a kernel's file is not read.
FILE_BYTES_MAX = 1 << 20
#: A sleeping disk may take this long to wake up; then the program is ended. smartctl itself gives up after 60 s.
PATIENCE_S = 30.0
#: How often somebody looks whether it is still wanted.
_LOOK_S = 0.25
#: Where programs for administrators are; a user's PATH often lacks them.
_SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")


@dataclass(frozen=True)
class Said:
    """What a program printed, and how it ended. `trouble` says why the output cannot be used; empty: it can."""

    output: bytes = b""
    code: int | None = None
    trouble: str = ""


@dataclass(frozen=True)
class Machine:
    """The machine, or a recording of one below `root`."""

    root: Path = Path("/")
    #: Folders in which programs are looked for; None: those of PATH, and those for administrators.
    programs: tuple[str, ...] | None = None
    patience_s: float = PATIENCE_S
    #: Whether nobody wants to know any more: the user pressed Ctrl-C.
    given_up: Callable[[], bool] = lambda: False

    def path(self, text: str) -> Path:
        """A path of the machine, such as `/sys/block`."""
        return self.root / text.lstrip("/")

    def read(self, text: str | Path) -> str | None:
        """A small file of the kernel without blanks around it; None if it cannot be read."""
        path = self.path(text) if isinstance(text, str) else text
        try:
            with path.open("rb") as handle:
                return handle.read(FILE_BYTES_MAX).decode(errors="replace").strip("\0\n\t ")
        except OSError:
            return None

    def program(self, *names: str) -> str | None:
        """Where the first of these programs is that is installed."""
        folders = self.programs if self.programs is not None else (*os.get_exec_path(), *_SBIN)
        for name in names:
            found = shutil.which(name, path=os.pathsep.join(folders))
            if found is not None:
                return found
        return None

    def ask(self, program: str, *arguments: str) -> Said:
        """Runs a program to its end, without a shell, and reads what it prints up to a limit. It never raises."""
        environment = {**os.environ, "LC_ALL": "C"}
        try:
            child = subprocess.Popen(
                [program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            return Said(trouble=f"{Path(program).name} cannot be started: {error.strerror}")
        return _listen(child, Path(program).name, self)

    def control(self, device: Path, request: int, argument: bytearray) -> str:
        """One ioctl on a device, which is opened for reading; the answer is in `argument`. Why it failed, or nothing.

        Errors: none; a device that refuses says why.
        """
        try:
            descriptor = os.open(device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            return error.strerror or str(error)
        try:
            status = fcntl.ioctl(descriptor, request, argument)
        except OSError as error:
            return error.strerror or str(error)
        finally:
            os.close(descriptor)
        return f"the drive answered with status 0x{status:x}" if status else ""


def _listen(child: subprocess.Popen[bytes], name: str, machine: Machine) -> Said:
    """Reads a child's output until it ends, says too much, takes too long, or nobody wants it any more."""
    assert child.stdout is not None
    patience_s = machine.patience_s
    deadline, pieces, length = time.monotonic() + patience_s, [], 0
    trouble = ""
    with child.stdout as pipe, selectors.DefaultSelector() as waiting:
        os.set_blocking(pipe.fileno(), False)
        waiting.register(pipe, selectors.EVENT_READ)
        while True:
            left_s = deadline - time.monotonic()
            if machine.given_up():
                trouble = f"{name} was not waited for: the run was interrupted"
                break
            if left_s <= 0:
                trouble = f"{name} did not answer within {patience_s:g} s"
                break
            if not waiting.select(min(left_s, _LOOK_S)):
                continue
            piece = pipe.read(1 << 16)
            if not piece:
                break
            length += len(piece)
            if length > OUTPUT_BYTES_MAX:
                trouble = f"{name} printed more than {OUTPUT_BYTES_MAX >> 20} MiB"
                break
            pieces.append(piece)
    if trouble:
        _end(child)
        return Said(trouble=trouble)
    try:
        code = child.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        _end(child)
        return Said(trouble=f"{name} did not end within {patience_s:g} s")
    return Said(b"".join(pieces), code)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends a child and what it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        # One that the kernel holds in a request to a dead drive cannot be waited for.
        child.wait(1.0)
