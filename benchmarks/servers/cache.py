"""Where the servers lie on this machine: a folder each, outside of every checkout."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from benchmarks.servers.registry import Server
from flatwater.errors import FlatwaterError, UserError
from flatwater.server import Binary
from flatwater.server.binary import read_binary

#: The variable of the environment with another folder for the servers.
FOLDER = "FLATWATER_SERVERS"


def cache_folder() -> Path:
    """The folder of all servers: `$FLATWATER_SERVERS`, or `flatwater/servers` in the user's folder of caches."""
    chosen = os.environ.get(FOLDER)
    if chosen:
        return Path(chosen).expanduser().absolute()
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return (Path(caches).expanduser() / "flatwater" / "servers").absolute()


def locate(server: Server) -> Binary | None:
    """The program of a server that is on this machine; None if it is not.

    Errors: UserError if the path that the user gave for it is no server that flatwater knows.
    """
    given = os.environ.get(server.variable)
    path = Path(given).expanduser() if given else server.origin.program_in(cache_folder() / server.name)
    if path is None or not (given or path.exists()):
        return None
    return read_binary(path)


def get(server: Server) -> Binary:
    """The program of a server, brought to this machine first if it is not there.

    Errors: FlatwaterError if it cannot be had here, with the reason in one line.
    """
    found = locate(server)
    if found is not None:
        return found
    caches = cache_folder()
    try:
        caches.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{server.name}-", dir=caches) as name:
            work, made = Path(name) / "work", Path(name) / "made"
            work.mkdir()
            made.mkdir()
            server.origin.bring(made, work, caches / server.name)
            # Complete, or not there at all.
            try:
                made.rename(caches / server.name)
            except OSError:
                if locate(server) is None:  # another `get` was faster, and its server is as good
                    raise
    except (OSError, shutil.Error) as error:
        raise FlatwaterError(f"{server.title} cannot be put into {caches}: {error}") from None
    found = locate(server)
    if found is None:
        raise UserError(f"{server.title} is not on this machine", hint=f"give its mysqld as {server.variable}")
    return found
