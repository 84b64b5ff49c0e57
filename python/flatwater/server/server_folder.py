"""Where the files of one server lie, and the settings that keep them there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from flatwater.errors import FlatwaterError
from flatwater.server.access import Access
from flatwater.server.binary import Binary
from flatwater.server.flavours.flavour import base_folder

#: The log of the tool that makes a data directory. It exists until the directory is complete.
INITIALISE_LOG = "initialise.log"


@dataclass(frozen=True)
class ServerFolder:
    """The folder of one server: `data/`, `tmp/`, `my.cnf` and `error.log`. The path is absolute."""

    path: Path

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.path / "data"

    @property
    def tmp(self) -> Path:
        """Temporary tables and files. Each server has its own: a server that starts deletes what it finds there."""
        return self.path / "tmp"

    @property
    def option_file(self) -> Path:
        """The server's my.cnf."""
        return self.path / "my.cnf"

    @property
    def error_log(self) -> Path:
        """The server's messages, over all its starts."""
        return self.path / "error.log"

    @property
    def initialise_log(self) -> Path:
        """See `INITIALISE_LOG`."""
        return self.path / INITIALISE_LOG

    def make(self) -> None:
        """Makes the folders that do not exist. Errors: FlatwaterError at storage.path."""
        try:
            for folder in (self.data, self.tmp):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise FlatwaterError(f"cannot make {folder}: {error.strerror}", where="storage.path") from None

    def settings(self, binary: Binary, access: Access) -> dict[str, str]:
        """The settings that keep every file of a server in its folder, and everybody else away from it."""
        found = {
            "datadir": str(self.data),
            "tmpdir": str(self.tmp),
            "secure_file_priv": str(self.tmp),
            "pid_file": str(self.path / "server.pid"),
            "log_error": str(self.error_log),
            "socket": str(access.socket),
            "init_file": str(access.init_file),
            # The server is reached through its socket only, so it looks up no host names.
            "skip_networking": "",
            "skip_name_resolve": "",
            "server_id": "1",
        }
        if os.geteuid() == 0:
            found["user"] = "root"
        prefix = base_folder(binary.path)
        if prefix is not None:
            found["basedir"] = str(prefix)
        options = binary.options()
        return found | {name: value for name, value in binary.kind.quiet().items() if name in options}
