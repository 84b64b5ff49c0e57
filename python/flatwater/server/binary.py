"""Finding a MySQL-compatible server on this machine, and reading its version and its options."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import Experiment
from flatwater.experiment.parse import expanded
from flatwater.experiment.programs import SERVERS, require_allowed
from flatwater.server.flavours import FLAVOURS, Flavour, Version, recognise, refuse_too_old
from flatwater.server.flavours.flavour import base_option

#: Names of servers' programs. MariaDB's own name comes first, because its `mysqld` is a link to it.
NAMES = SERVERS
#: Where packages and tarballs put a server when it is not on PATH (Debian's users have no /usr/sbin there).
FOLDERS = (
    "/usr/sbin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/local/libexec",
    "/usr/local/mysql/bin",
    "/usr/local/mariadb/bin",
    "/opt/mysql/bin",
    "/opt/mariadb/bin",
)
#: Since this version a Percona Server that was built from sources names itself, too.
_NAMES_ITSELF: Version = (8, 0, 0)

#: A server answers `--version` and `--help` at once, except from a network file system that has to wake up.
_ANSWER_S = 60.0
_WHERE = "database.binary"
# "mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)"
_VERSION = re.compile(r"^\S*?(?:mysqld|mariadbd)\S*\s+Ver\s+((\d+)\.(\d+)\.(\d+)\S*)(.*)", re.MULTILINE)


@dataclass(frozen=True)
class Binary:
    """A server's program: `flavour` is a key of FLAVOURS, `version_text` is what follows "Ver" (`10.11.6-MariaDB`)."""

    path: Path
    flavour: str
    version: Version
    version_text: str

    @property
    def kind(self) -> Flavour:
        """How servers of this flavour are handled."""
        return FLAVOURS[self.flavour]

    @property
    def title(self) -> str:
        """For people: `MariaDB 10.11.6`."""
        return f"{self.kind.title} {'.'.join(map(str, self.version))}"

    def options(self) -> Mapping[str, str]:
        """Every option in the server's `--help`, with underscores, and its default as text.

        Errors: FlatwaterError if it lists none.
        """
        return _options(self.path, self.path.stat().st_mtime_ns)

    def read_help(self, arguments: list[str]) -> list[str]:
        """Errors and warnings about these options. The server reads them before it prints its help."""
        text = _run(self.path, ["--no-defaults", *_common_options(self.path), *arguments, "--verbose", "--help"])
        message = re.compile(r"\[(?:ERROR|Warning)\]|^\S*(?:mysqld|mariadbd): ")
        return [line for line in text.splitlines() if message.search(line)]


def find_server(binary: str | None = None) -> Binary:
    """The server that the experiment names (a path, or a name on PATH), or else the first one that is installed.

    Errors: UserError if there is none, or if it cannot be run, is not a server, or is too old.
    """
    if binary is None:
        return read_binary(_installed())
    if "/" not in binary:
        found = shutil.which(binary) or _in_folders(binary)
        if found is None:
            raise UserError(f"there is no {binary} on PATH or in {', '.join(FOLDERS[:2])}", where=_WHERE, hint=_HINT)
        return read_binary(Path(found))
    return read_binary(expanded(binary))


_HINT = "install one (on Debian and Ubuntu: the package mariadb-server), or give its path as database.binary"


def server_of(experiment: Experiment) -> Binary:
    """The server that an experiment starts. Errors: as of `find_server`; UserError if it may run no program."""
    require_allowed(experiment)
    return find_server(experiment.server.binary)


def _installed() -> Path:
    for name in NAMES:
        found = shutil.which(name) or _in_folders(name)
        if found is not None:
            return Path(found)
    raise UserError(f"no database server is installed here ({' or '.join(NAMES)})", where=_WHERE, hint=_HINT)


def _in_folders(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join(FOLDERS))


def read_binary(path: Path) -> Binary:
    """The server at this path, with its flavour and version. Errors: as of `find_server`."""
    _check_runnable(path)
    return _read_version(path.absolute(), path.stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _read_version(path: Path, mtime_ns: int) -> Binary:
    text = _run(path, ["--version"])
    match = _VERSION.search(text)
    if match is None:
        answer = next((line for line in text.splitlines() if line.strip()), "nothing")
        raise UserError(
            f"{path} is not a MySQL-compatible server: asked for its version, it says: {answer[:200]}",
            where=_WHERE,
            hint="give the path of mariadbd or mysqld",
        )
    version = (int(match[2]), int(match[3]), int(match[4]))
    flavour = recognise(match[1] + match[5])
    if flavour == "mysql" and version < _NAMES_ITSELF:
        flavour = recognise(match[1] + match[5], _listed(path))
    refuse_too_old(str(path), flavour, version, match[1], where=_WHERE)
    return Binary(path, flavour, version, match[1])


def _check_runnable(path: Path) -> None:
    try:
        missing = not path.exists()
    except (OSError, ValueError) as error:
        raise UserError(f"cannot use {path}: {getattr(error, 'strerror', None) or error}", where=_WHERE) from None
    if missing:
        raise UserError(f"{path} does not exist", where=_WHERE, hint="give the path of mariadbd or mysqld")
    if not path.is_file() or not os.access(path, os.X_OK):
        raise UserError(f"{path} is not a program that can be run", where=_WHERE, hint="give the path of a server")
    if path.name in {"mysqld_safe", "mariadbd-safe", "mysqld_multi", "mariadbd-multi"}:
        # With --version, such a script may start a server.
        raise UserError(
            f"{path} only starts servers", where=_WHERE, hint=f"give the server itself: {' or '.join(NAMES)}"
        )


def _run(path: Path, arguments: list[str]) -> str:
    """The output of a program, both streams. Errors: UserError only if it cannot be started or does not end."""
    try:
        done = subprocess.run(
            [str(path), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_ANSWER_S,
            cwd="/",
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"{path} {arguments[0]} does not answer", where=_WHERE, hint="is it a server?") from None
    except OSError as error:
        raise UserError(f"cannot run {path}: {error.strerror}", where=_WHERE, hint="give a server's path") from None
    text = done.stdout.decode(errors="replace")
    missing = re.search(r"error while loading shared libraries: (.*)", text)
    if missing:
        raise UserError(f"cannot run {path}: {missing[1]}", where=_WHERE, hint="install that library")
    return text


def _listed(path: Path) -> Mapping[str, str]:
    return read_options(_run(path, ["--no-defaults", *_common_options(path), "--verbose", "--help"]))


@lru_cache(maxsize=16)
def _options(path: Path, mtime_ns: int) -> Mapping[str, str]:
    options = _listed(path)
    if "innodb_buffer_pool_size" not in options:
        raise FlatwaterError(
            f"{path} does not list its options with --verbose --help", where=_WHERE, hint="is it built with InnoDB?"
        )
    return options


def _common_options(path: Path) -> list[str]:
    # As root, servers of the 5.7 line refuse even to print their help without --user=root. Some print no help if they
    # do not find their message files.
    return [*base_option(path), *(["--user=root"] if os.geteuid() == 0 else [])]


def read_options(text: str) -> dict[str, str]:
    """The table at the end of a server's `--verbose --help`: names (with underscores) and values."""
    options: dict[str, str] = {}
    inside = False
    for line in text.splitlines():
        if not inside:
            inside = re.fullmatch(r"-{20,} -{5,}", line.strip()) is not None
        elif not line.strip():
            break
        else:
            name, _, value = line.partition(" ")
            value = value.strip()
            options[name.replace("-", "_").lower()] = "" if value == "(No default value)" else value
    return options
