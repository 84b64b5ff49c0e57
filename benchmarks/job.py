"""What every program of a comparison is asked to do, how it is run, and what it answers."""

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

#: InnoDB's page, and the block of all published figures that flatwater re-creates.
BLOCK_BYTES = 16 * 1024
#: sysbench's name for the first of its files, which cannot be chosen: so the others use it too.
FILE_NAME = "test_file.0"


@dataclass(frozen=True)
class Job:
    """16 KiB random reads or writes of one file with O_DIRECT, as fast as they go."""

    mode: Literal["rndrd", "rndwr"]
    engine: Literal["io_uring", "psync"]
    threads: int = 1
    depth: int = 1

    @property
    def title(self) -> str:
        """The job in a table's cell."""
        what = "random read" if self.mode == "rndrd" else "random write"
        if self.engine == "io_uring":
            return f"io_uring, {what}, depth {self.depth}"
        return f"psync, {what}, {self.threads} thread{'s' if self.threads > 1 else ''}"


@dataclass(frozen=True)
class Setting:
    """Where and for how long: the same for every program."""

    folder: Path
    size_bytes: int
    seconds: int


@dataclass(frozen=True)
class Outcome:
    """What one run of a program gave.

    `cpu_us` is CPU time (user and system) for each IO within the measured time, `whole_cpu_us` that of the whole
    process from its start to its end: it includes reading the options, loading libraries, writing the result.
    """

    iops: float
    cpu_us: float
    whole_cpu_us: float


@dataclass(frozen=True)
class Finished:
    """A child process that ended well: its output, and what the kernel counted for it and its children."""

    output: str
    wall_s: float
    cpu_s: float
    rss_max_bytes: int


def run_child(command: list[str], folder: Path, environment: Mapping[str, str] | None = None) -> Finished:
    """Runs a program to its end in `folder`; `environment` is added to this process's.

    Errors: UserError when it is not installed, FlatwaterError with its last words when it fails.
    """
    # Files, not pipes: nobody has to read while it runs.
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
