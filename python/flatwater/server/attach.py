"""A server that flatwater did not start: its flavour, version and variables are read, and nothing is changed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from flatwater._engine import Connection, EngineError
from flatwater.engine_json import to_json
from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment.database.login import Login
from flatwater.experiment.problem import quote
from flatwater.server.answers import rows_of
from flatwater.server.asking import Stop, ask, never
from flatwater.server.flavours import FLAVOURS, Version, recognise, refuse_too_old
from flatwater.server.refused import explain, hint_of
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
    #: Version and cipher of TLS, as `TLSv1.3 TLS_AES_256_GCM_SHA384`; None without TLS.
    tls: str | None = None
    #: What it calls its machine; empty if it does not tell. It is kept in no result (see `read_variables`).
    host: str = field(default="", repr=False)

    @property
    def title(self) -> str:
        """For people: `MariaDB 10.11.6`."""
        return f"{FLAVOURS[self.flavour].title} {'.'.join(map(str, self.version))}"

    @property
    def identity(self) -> str:
        """A digest that differs between servers, and does not show what it is made of."""
        # MariaDB has no uuid. Two machines may well have the same folder and the same port.
        names = ("datadir", "port", "server_id", "server_uuid")
        told = [self.flavour, self.version_text, self.host, *(str(self.variables.get(name, "")) for name in names)]
        return hashlib.sha256("\0".join(told).encode()).hexdigest()


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
        what, hint = explain(login, str(error), ANSWER_S)
        raise UserError(what, where="database.url", hint=hint) from None
    try:
        first = rows_of(connection, "SELECT VERSION(), @@version_comment", columns=2, rows_min=1)[0]
        text, comment = first[0] or "", first[1] or ""
        rows = rows_of(connection, "SHOW GLOBAL VARIABLES", columns=2)
        tls = connection.tls
    except EngineError as error:
        if known := hint_of(str(error)):
            raise UserError(f"{login.address} refuses: {error}", where="database.url", hint=known) from None
        hint = "is it a MySQL-compatible server, and healthy?"
        raise FlatwaterError(f"{login.address} does not answer: {error}", where="database.url", hint=hint) from None
    finally:
        connection.close()
    match = re.match(r"(\d{1,4})\.(\d{1,4})\.(\d{1,4})", text, re.ASCII)
    if match is None:
        what = f"{login.address} is no MySQL-compatible server: its version is {quote(text)}"
        raise UserError(what, where="database.url", hint="is the address right?")
    version = (int(match[1]), int(match[2]), int(match[3]))
    variables = read_variables(rows)
    host = next((row[1] or "" for row in rows if (row[0] or "").lower() == "hostname"), "")
    flavour = recognise(f"{text} {comment}", variables)
    refuse_too_old(str(login.address), flavour, version, text, where="database.url")
    return Attached(flavour, version, text, comment, variables, tls, host)
