"""A dask scheduler and its workers, each a process of its own, as a user would start them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.servers.bench import require

DASK = Path(sys.executable).with_name("dask")
#: What has not joined the cluster after this long never will: long enough for a machine with a load of twenty.
PATIENCE_S = 240.0
#: What a worker logs when the scheduler knows it.
_READY = "Starting established connection to"


class Cluster:
    """A scheduler on this machine. Workers on different addresses of it are different hosts to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[subprocess.Popen[bytes]] = []
        self.scheduler = self.start_scheduler("--host", "127.0.0.1", "--no-dashboard")

    def start_scheduler(self, *options: str) -> subprocess.Popen[bytes]:
        """Starts a scheduler at any free port, and learns its address."""
        scheduler = self._start("scheduler", "scheduler", *options, "--port", "0")
        log = self.folder / "scheduler" / "log"
        _until_logged(scheduler, log, "Scheduler at:")
        (line,) = [line for line in log.read_text().splitlines() if "Scheduler at:" in line]
        self.address = line.split()[-1]
        return scheduler

    def start_worker(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Starts a worker with these arguments, in a folder of its own, and waits until the scheduler knows it."""
        options = ("--local-directory", str(self.folder / name))
        started = self._start(name, "worker", *arguments, *options)
        _until_logged(started, self.folder / name / "log", _READY)
        return started

    def start_worker_through(
        self, enter: Sequence[str], name: str, *arguments: str, python_path: Path | None = None
    ) -> subprocess.Popen[bytes]:
        """Starts a worker through another program, and waits until the scheduler knows it."""
        options = ("--local-directory", str(self.folder / name))
        started = self._start(name, "worker", *arguments, *options, python_path=python_path, enter=enter)
        _until_logged(started, self.folder / name / "log", _READY)
        return started

    def worker(
        self, name: str, *, host: int = 1, real: float = 0, threads: int = 1, python_path: Path | None = None
    ) -> subprocess.Popen[bytes]:
        """Starts a worker in a folder of its own, which has a folder `data`; `real` cells are what it takes at once."""
        options = ["--host", f"127.0.0.{host}", "--no-nanny", "--no-dashboard", "--nthreads", str(threads)]
        options += ["--local-directory", str(self.folder / name)]
        options += ["--resources", f"flatwater={real:g}"] if real else []
        started = self._start(name, "worker", self.address, *options, python_path=python_path)
        _until_logged(started, self.folder / name / "log", _READY)
        return started

    def _start(
        self, name: str, *arguments: str, python_path: Path | None = None, enter: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        folder = self.folder / name
        (folder / "data").mkdir(parents=True)
        environment = {**os.environ, **({"PYTHONPATH": str(python_path)} if python_path else {})}
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [*enter, DASK, *arguments],
                cwd=folder,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=environment,
            )
        self._started.append(process)
        return process

    @property
    def processes(self) -> list[int]:
        """The ids of everything that was started."""
        return [process.pid for process in self._started]

    def close(self) -> None:
        """Ends everything."""
        for process in reversed(self._started):
            process.kill()
            process.wait()


def _until_logged(process: subprocess.Popen[bytes], log: Path, text: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while text not in log.read_text(errors="replace"):
        require(process.poll() is None and time.monotonic() < end, log.read_text(errors="replace"))
        time.sleep(0.05)
