"""Packages of another suite of Debian, got with apt, without a trace in the lists of the system."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.servers.client import call
from flatwater.errors import FlatwaterError

_TARGET = "$(ORIGIN)\t$(LABEL)\t$(REPO_URI)"


def download(suite: str, packages: Sequence[str], work: Path) -> list[Path]:
    """The packages as files in `work`. They come from where this system's own packages come from.

    Errors: FlatwaterError with apt's reason.
    """
    lists, sources, archives = work / "lists", work / "sources", work / "packages"
    for folder in (lists / "partial", sources, archives / "partial"):
        folder.mkdir(parents=True)
    (sources / "suite.sources").write_text(_source(suite))
    private = [
        *("-o", "Dir::Etc::sourcelist=/dev/null"),
        *("-o", f"Dir::Etc::sourceparts={sources}"),
        *("-o", f"Dir::State::lists={lists}"),
        *("-o", f"Dir::Cache={work}"),
        # apt drops its rights to a user who may not enter a private folder.
        *("-o", "APT::Sandbox::User=root"),
        "-q",
    ]
    call(["apt-get", *private, "update"], work)
    call(["apt-get", *private, "download", *packages], archives)
    return sorted(archives.glob("*.deb"))


def _source(suite: str) -> str:
    """An entry for the suite, with the address and the keys of the system's own Debian."""
    told = call(["apt-get", "indextargets", "--format", _TARGET, "Created-By: Packages"], Path("/"))
    entries = [line.split("\t") for line in told.splitlines()]
    address = next((uri for origin, label, uri in entries if (origin, label) == ("Debian", "Debian")), None)
    if address is None:
        raise FlatwaterError("this system has no packages of Debian", hint="on others, give the path of such a server")
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    return f"Types: deb\nURIs: {address}\nSuites: {suite}\nComponents: main\nSigned-By: {keys}\n"
