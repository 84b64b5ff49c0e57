"""A dask scheduler and its workers, each a process of its own, as a user would start them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from lab import PATIENCE_S

DASK = Path(sys.executable).with_name("dask")
#: What a worker logs when the scheduler knows it.
_READY = "Starting established connection to"


class Cluster:
    """A scheduler on this machine. Workers on different addresses of it are different hosts to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start("scheduler", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        log = folder / "scheduler" / "log"
        _until_logged(self.scheduler, log, "Scheduler at:")
        (line,) = [line for line in log.read_text().splitlines() if "Scheduler at:" in line]
        self.address = line.split()[-1]

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

    def _start(self, name: str, *arguments: str, python_path: Path | None = None) -> subprocess.Popen[bytes]:
        folder = self.folder / name
        (folder / "data").mkdir(parents=True)
        environment = {**os.environ, **({"PYTHONPATH": str(python_path)} if python_path else {})}
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [DASK, *arguments], cwd=folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment
            )
        self._started.append(process)
        return process

    def close(self) -> None:
        """Ends everything."""
        for process in reversed(self._started):
            process.kill()
            process.wait()


def _until_logged(process: subprocess.Popen[bytes], log: Path, text: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while text not in log.read_text(errors="replace"):
        assert process.poll() is None and time.monotonic() < end, log.read_text(errors="replace")
        time.sleep(0.05)


def other_flatwater(folder: Path, *lines: str) -> Path:
    """A place from which Python imports another flatwater than ours, as far as a client asks it."""
    package = folder / "flatwater"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("\n".join(lines) + "\n")
    return folder


def another_version(folder: Path, version: str) -> Path:
    """A flatwater of another version, which only knows how to say so."""
    other_flatwater(folder, f"__version__ = {version!r}")
    executors = folder / "flatwater" / "runner" / "executors"
    executors.mkdir(parents=True)
    for place in (executors.parent, executors):
        (place / "__init__.py").touch()
    (executors / "site.py").write_text(
        f'def facts():\n    return {{"flatwater": {version!r}, "engine": "none", "machine": {{}}}}\n'
    )
    return folder


def another_build(folder: Path) -> Path:
    """This version of flatwater, with an engine that is not the one that is here: its fingerprint is another."""
    another_version(folder, "")
    from flatwater import __version__

    site = folder / "flatwater" / "runner" / "executors" / "site.py"
    site.write_text(site.read_text().replace("\"flatwater\": ''", f'"flatwater": {__version__!r}'))
    return folder
