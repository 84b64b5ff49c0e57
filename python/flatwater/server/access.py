"""How one server is reached: a private folder with its socket, and the account of flatwater in it."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from pathlib import Path

from flatwater.errors import FlatwaterError
from flatwater.experiment.database.login import Login, Socket
from flatwater.server.flavours.flavour import Flavour, Version

#: The account that flatwater logs in with.
USER = "flatwater"
#: Bytes that an address of a unix socket has room for, without the closing zero (unix(7)).
SOCKET_PATH_BYTES_MAX = 107
_SOCKET, _INIT_FILE, _DATA_LINK = "mysql.sock", "init.sql", "data"
#: Every file that may be in the private folder of a server. The server itself adds the lock.
FOLDER_FILES = (_SOCKET, f"{_SOCKET}.lock", _INIT_FILE, _DATA_LINK)
#: The name of a private folder.
FOLDER_NAME = re.compile(r"flatwater-\w{8}")


class Access:
    """The socket, the password and the private folder of one server.

    The folder is made in a temporary place and deleted by `close`, unless `folder` names one that exists already.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._is_temporary = folder is None
        self._folder = folder if folder is not None else _make_private_folder()
        # One password for all starts of the server: a client that lost its connection in a crash logs in again.
        self._password = secrets.token_urlsafe(24)

    @property
    def socket(self) -> Path:
        """The server's socket. It exists while the server accepts connections."""
        return self._folder / _SOCKET

    @property
    def init_file(self) -> Path:
        """SQL that the server runs when it starts. The file has the password in it."""
        return self._folder / _INIT_FILE

    def login(self, schema: str | None = None) -> Login:
        """How a client logs in."""
        return Login(Socket(str(self.socket)), USER, self._password, schema)

    def write_init_file(self, flavour: Flavour, version: Version) -> None:
        """Writes the SQL that makes the account, as this flavour and version of server understands it."""
        # The password must not reach a binary log either.
        lines = ["SET sql_log_bin = 0;", *flavour.account(version, USER, self._password)]
        self.remove_init_file()
        with os.fdopen(os.open(self.init_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
            handle.write("\n".join(lines) + "\n")

    def remove_init_file(self) -> None:
        """Deletes the init file, if it is there. The server has read it once it answers."""
        self.init_file.unlink(missing_ok=True)

    def remove_socket(self) -> None:
        """Deletes the socket that a server left when it was killed."""
        self.socket.unlink(missing_ok=True)

    def link_to(self, data: Path) -> Path:
        """A path to the data directory without blanks and special characters.

        The shell scripts that make data directories do not quote their paths. `unlink` removes the link.
        """
        if re.fullmatch(r"[\w./@:+-]+", str(data), re.ASCII):
            return data
        self.unlink()
        link = self._folder / _DATA_LINK
        link.symlink_to(data)
        return link

    def unlink(self) -> None:
        """Removes the link that `link_to` made, if it made one."""
        (self._folder / _DATA_LINK).unlink(missing_ok=True)

    def close(self) -> None:
        """Deletes the init file, and the folder if it was made here."""
        self.remove_init_file()
        if self._is_temporary:
            shutil.rmtree(self._folder, ignore_errors=True)


def _make_private_folder() -> Path:
    """A folder that only this user can enter, with a path short enough for a socket."""
    places = dict.fromkeys([tempfile.gettempdir(), "/tmp", "/dev/shm"])  # noqa: S108 (mkdtemp makes it private)
    for place in places:
        if len(os.fsencode(place)) + len("/flatwater-12345678/mysql.sock") <= SOCKET_PATH_BYTES_MAX:
            try:
                return Path(tempfile.mkdtemp(prefix="flatwater-", dir=place))
            except OSError:
                continue
    raise FlatwaterError(
        f"no folder for a server's socket can be made in {' or '.join(places)}", hint="set TMPDIR to a short path"
    )
