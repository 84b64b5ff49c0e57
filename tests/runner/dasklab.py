"""A dask scheduler and its workers, each a process of its own, as a user would start them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from waiting import PATIENCE_S

DASK = Path(sys.executable).with_name("dask")
DOCS = Path(__file__).parents[2] / "docs" / "sweeps.md"
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


class DocumentedCluster(Cluster):
    """A scheduler and a worker that are started by the very commands of docs/sweeps.md, at addresses of this machine.

    `kind` is how their addresses begin: `tcp` or `tls`; `certificates` is where the files are that `tls` needs.
    """

    def __init__(self, folder: Path, kind: str, certificates: Path | None = None) -> None:
        self.folder = folder
        self._started = []
        lines = [line.strip() for line in DOCS.read_text().splitlines()]
        self.commands = [
            line
            for line in lines
            if line.startswith("dask ") and "--host" in line and (kind == "tls") == ("--tls-" in line)
        ]
        scheduler, worker = (shlex.split(line)[2:] for line in self.commands)
        self.scheduler = self.start_scheduler(*(self._here(word, certificates) for word in scheduler))
        address = self.address
        self.start_worker("worker", address, *(self._here(word, certificates) for word in worker[1:]), "--no-nanny")

    @staticmethod
    def _here(word: str, certificates: Path | None) -> str:
        word = word.replace("10.0.0.1", "127.0.0.1").replace("10.0.0.2", "127.0.0.2")
        return str(certificates / word) if certificates is not None and word.endswith((".pem", ".key")) else word


def make_certificates(folder: Path, *names: str) -> Path:
    """A certificate authority, and for each name a key and a certificate of it; `stranger` is another authority's."""
    folder.mkdir(parents=True)

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    for authority in ("ca", "stranger"):
        subject = ("-subj", f"/CN={authority}", "-days", "2")
        openssl(
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            *subject,
            "-keyout",
            f"{authority}.key",
            "-out",
            f"{authority}.pem",
        )
    for name in names:
        openssl(
            "req",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            f"/CN={name}",
            "-keyout",
            f"{name}.key",
            "-out",
            f"{name}.csr",
        )
        signer = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2")
        openssl("x509", "-req", "-in", f"{name}.csr", *signer, "-out", f"{name}.pem")
    return folder


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
