"""The job of every program in a comparison, how a program is run, and its outcome."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flatwater.errors import FlatwaterError, UserError

#: The page size of InnoDB, and the block size of all published figures that flatwater re-creates.
BLOCK_BYTES = 16 * 1024
#: sysbench's name for the first of its files, which cannot be changed. So all programs use it.
FILE_NAME = "test_file.0"


@dataclass(frozen=True)
class Job:
    """16 KiB random reads or writes of one file with O_DIRECT, at full speed."""

    mode: Literal["rndrd", "rndwr"]
    engine: Literal["io_uring", "psync"]
    threads: int = 1
    depth: int = 1

    @property
    def title(self) -> str:
        """The title of the job in a table."""
        what = "random read" if self.mode == "rndrd" else "random write"
        if self.engine == "io_uring":
            return f"io_uring, {what}, depth {self.depth}"
        return f"psync, {what}, {self.threads} thread{'s' if self.threads > 1 else ''}"


@dataclass(frozen=True)
class Setting:
    """The place and the length of the runs: equal for every program."""

    folder: Path
    size_bytes: int
    seconds: int


@dataclass(frozen=True)
class Outcome:
    """The outcome of one run of a program.

    `cpu_us` is CPU time (user and system) for each IO within the measured time. `whole_cpu_us` is that of the whole
    process: it includes reading the options, loading libraries, writing the result.
    """

    iops: float
    cpu_us: float
    whole_cpu_us: float


@dataclass(frozen=True)
class Finished:
    """A child process that ended without error: its output, and the kernel's counts for it and its children."""

    output: str
    wall_s: float
    cpu_s: float
    rss_max_bytes: int


def run_child(command: list[str], folder: Path, environment: Mapping[str, str] | None = None) -> Finished:
    """Runs a program to its end in `folder`; `environment` is added to that of this process.

    Errors: UserError when it is not installed, FlatwaterError with its last message when it fails.
    """
    # Files instead of pipes: nothing has to be read while the program runs.
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as complaints:
        started = time.monotonic()
        try:
            child = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=complaints,
            )
        except FileNotFoundError:
            raise UserError(
                f"{command[0]} is not installed", hint="sudo apt-get install fio sysbench, and `make setup`"
            ) from None
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            child.wait()
            raise
        wall_s = time.monotonic() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        complaints.seek(0)
        text = output.read()
        if child.returncode != 0:
            last = (complaints.read().strip() or text.strip() or "no output").splitlines()[-1]
            raise FlatwaterError(f"{Path(command[0]).name} failed ({child.returncode}): {last}")
    return Finished(text, wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
