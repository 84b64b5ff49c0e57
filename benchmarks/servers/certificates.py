"""Certificates made by the openssl command: authorities, and what they sign."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from flatwater.errors import FlatwaterError

PROGRAM = "openssl"
_CONFIG = """\
[ca]
default_ca = own
[own]
database = {folder}/index.txt
serial = {folder}/serial
new_certs_dir = {folder}
default_md = sha256
policy = any
[any]
commonName = supplied
"""
#: A time in the past, and one that nobody lives to see.
LONG_AGO, LATER = "20200101000000Z", "20991231235959Z"


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, in PEM."""

    cert: Path
    key: Path

    def write_old_key(self, path: Path) -> None:
        """Writes the key, of RSA, in the form that libraries before PKCS #8 read, and today's, too."""
        _openssl("rsa", "-traditional", "-in", self.key, "-out", path)


def _openssl(*arguments: object) -> None:
    if (why_not := why_no_certificates()) is not None:
        raise FlatwaterError(why_not)
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise FlatwaterError(f"openssl: {' '.join(done.stderr.split())}")


def why_no_certificates() -> str | None:
    """Why no certificates can be made; None if they can."""
    return None if shutil.which(PROGRAM) is not None else "no openssl on PATH"


def self_signed(folder: Path, name: str, *extensions: str) -> Pair:
    """A certificate that vouches for itself: an authority's, unless the extensions say otherwise."""
    pair = Pair(folder / f"{name}.pem", folder / f"{name}.key")
    added = [word for extension in extensions for word in ("-addext", extension)]
    _openssl(
        *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", pair.key, "-out", pair.cert),
        *("-subj", f"/CN={name}", "-days", "30", *added),
    )
    return pair


@dataclass(frozen=True)
class Authority:
    """Someone who signs."""

    folder: Path
    own: Pair

    @classmethod
    def make(cls, folder: Path, name: str = "authority") -> Authority:
        """A new one, in a folder of its own."""
        folder.mkdir()
        (folder / "index.txt").touch()
        (folder / "serial").write_text("01\n")
        (folder / "ca.cnf").write_text(_CONFIG.format(folder=folder))
        return cls(folder, self_signed(folder, name))

    def sign(self, name: str, *extensions: str, begin: str = LONG_AGO, end: str = LATER, key: str = "rsa:2048") -> Pair:
        """A certificate for this name, valid from begin to end; without extensions it is of X.509's version 1."""
        pair = Pair(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        request, told = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        told.write_text("".join(f"{extension}\n" for extension in extensions))
        _openssl("req", "-newkey", key, "-nodes", "-keyout", pair.key, "-out", request, "-subj", f"/CN={name}")
        _openssl(
            *("ca", "-batch", "-config", self.folder / "ca.cnf", "-cert", self.own.cert, "-keyfile", self.own.key),
            *("-in", request, "-out", pair.cert, "-notext", "-startdate", begin, "-enddate", end, "-extfile", told),
        )
        return pair
