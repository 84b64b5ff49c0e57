"""Clusters of dask for tests: by the commands of the docs, with certificates, and with another flatwater."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from benchmarks.servers.cluster import Cluster

DOCS = Path(__file__).parents[2] / "docs" / "sweeps.md"


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
