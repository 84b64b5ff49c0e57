"""A server that flatwater did not start: its flavour, version and variables are read, and nothing is changed."""

from __future__ import annotations

import contextlib
import re
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from flatwater._engine import Connection, EngineError
from flatwater.engine_json import to_json
from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment.database.login import Login, Socket
from flatwater.experiment.problem import quote
from flatwater.server.answers import rows_of
from flatwater.server.asking import Stop, ask, never
from flatwater.server.binary import OLDEST
from flatwater.server.flavours import FLAVOURS, Version, recognise
from flatwater.server.variables import read_variables

#: A server that has not answered after this is frozen or overloaded.
ANSWER_S = 10.0


@dataclass(frozen=True)
class Attached:
    """The flavour, version and variables that a server reports."""

    flavour: str
    version: Version
    version_text: str
    version_comment: str
    variables: Mapping[str, str]

    @property
    def title(self) -> str:
        """For people: `MariaDB 10.11.6`."""
        return f"{FLAVOURS[self.flavour].title} {'.'.join(map(str, self.version))}"


def describe(login: Login, stop: Stop = never) -> Attached:
    """Reads the flavour, version and variables of the server of a login (see `Instance.login`).

    Errors: UserError at database.url if it cannot be reached, refuses the login, or is too old; Interrupted when
    `stop()` has become true.
    """
    return ask(lambda: _describe(login), stop)


def _describe(login: Login) -> Attached:
    try:
        connection = Connection(to_json(login), ANSWER_S)
    except EngineError as error:
        raise UserError(
            # The message about a server that is not there names its address already.
            str(error) if str(error).startswith("cannot connect") else f"cannot log in to {login.address}: {error}",
            where="database.url",
            hint="is it running, and is the login right?",
        ) from None
    try:
        first = rows_of(connection, "SELECT VERSION(), @@version_comment", columns=2, rows_min=1)[0]
        text, comment = first[0] or "", first[1] or ""
        variables = read_variables(rows_of(connection, "SHOW GLOBAL VARIABLES", columns=2))
    except EngineError as error:
        hint = "is it a MySQL-compatible server, and healthy?"
        raise FlatwaterError(f"{login.address} does not answer: {error}", where="database.url", hint=hint) from None
    finally:
        connection.close()
    match = re.match(r"(\d{1,4})\.(\d{1,4})\.(\d{1,4})", text, re.ASCII)
    if match is None:
        what = f"{login.address} is no MySQL-compatible server: its version is {quote(text)}"
        raise UserError(what, where="database.url", hint="is the address right?")
    version = (int(match[1]), int(match[2]), int(match[3]))
    flavour = recognise(f"{text} {comment}")
    if version < OLDEST:
        raise UserError(
            f"{login.address} is {FLAVOURS[flavour].title} {text}: the oldest that flatwater knows is 5.5",
            where="database.url",
            hint="use a newer server",
        )
    return Attached(flavour, version, text, comment, variables)


def local_pids(login: Login) -> list[int]:
    """The process of a server on this machine, to measure its CPU time; [] if it is not reached through a socket."""
    if not isinstance(login.address, Socket):
        return []
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(ANSWER_S)
        probe.connect(login.address.socket)
        # struct ucred: pid, uid, gid of the process that called listen(2) (unix(7), SO_PEERCRED).
        pid, _, _ = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return [pid] if pid > 0 else []
    return []
