"""Where a server that runs already is: `mysql://user:password@host:3306/schema`, or `mysql:///path/to.sock?user=me`.

What it says of TLS follows the ?: `mysql://user@host/schema?ssl-mode=VERIFY_CA&ssl-ca=/etc/ca.pem`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from flatwater.experiment.database.tls import PARAMETERS, TlsWords, read_parameters
from flatwater.experiment.problem import refuse

#: MySQL's port, as registered with IANA.
DEFAULT_PORT = 3306
#: A socket's path must fit sockaddr_un (108 bytes with its end).
_LONGEST_SOCKET = 107
#: MySQL's identifiers may be 64 characters long; these need no care on a file system or in a statement.
SCHEMA_NAME = re.compile(r"[0-9A-Za-z_$-]{1,64}", re.ASCII)

_LOOKS = "like mysql://USER@HOST:3306/SCHEMA or mysql:///PATH/TO.sock?user=USER"
_TLS = ", ".join(PARAMETERS[:-1]).replace("_", "-") + " and " + PARAMETERS[-1].replace("_", "-")
_ESCAPE = "in a user or password write / as %2F, @ as %40, : as %3A, # as %23, ? as %3F and % as %25"


@dataclass(frozen=True)
class Address:
    """A server's address in its parts: a socket, or a host and a port."""

    user: str
    password: str | None
    schema: str | None
    socket: str | None = None
    host: str = ""
    port: int = DEFAULT_PORT
    tls: TlsWords = field(default_factory=TlsWords)


def parse_url(url: str) -> Address:
    """The parts of a server's URL. Raises what validators raise, without quoting the URL: it may hold a password."""
    if not url.isprintable() or " " in url:
        raise refuse("must have no spaces and control characters", _LOOKS)
    scheme, separator, _ = url.partition("://")
    if not separator or scheme.lower() != "mysql":
        raise refuse("must begin with mysql://", _LOOKS)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise refuse("the host and port cannot be read", _ESCAPE) from None
    if parts.fragment:
        raise refuse("a # has no meaning there", _ESCAPE)
    said = _query(parts)
    user, password = _credentials(parts, said)
    tls = read_parameters(said)
    if parts.netloc.rpartition("@")[2]:
        if not parts.hostname:
            raise refuse("names no host", _LOOKS)
        if port == 0:
            raise refuse("port 0 is none a server listens on", _LOOKS)
        schema = _one(unquote(parts.path.removeprefix("/")) or None, said.get("schema"), "schema")
        return Address(user, password, _schema(schema), host=parts.hostname, port=port or DEFAULT_PORT, tls=tls)
    socket = unquote(parts.path)
    if socket in ("", "/"):
        raise refuse("names neither a host nor a socket", _LOOKS)
    if len(socket.encode()) > _LONGEST_SOCKET or "\0" in socket:
        raise refuse(f"a socket's path has at most {_LONGEST_SOCKET} bytes", _LOOKS)
    return Address(user, password, _schema(said.get("schema")), socket=socket, tls=tls)


def without_password(url: str) -> str:
    """The same URL with no password in it. The URL must be one that `parse_url` takes."""
    parts = urlsplit(url)
    userinfo, at, place = parts.netloc.rpartition("@")
    said = [(name, value) for name, value in parse_qsl(parts.query) if name != "password"]
    # Not urlsplit's own: it drops the // of a URL with no host.
    query = f"?{urlencode(said, quote_via=quote)}" if said else ""
    return f"mysql://{userinfo.partition(':')[0]}{at}{place}{parts.path}{query}"


def has_password(url: Any) -> bool:
    """Whether a value is a URL with a password in it."""
    try:
        return isinstance(url, str) and parse_url(url).password is not None
    except ValueError:
        return False


def _query(parts: SplitResult) -> dict[str, str]:
    try:
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise refuse("what follows the ? cannot be read", _LOOKS) from None
    # The servers' client writes ssl-mode, the file ssl_mode: both are known.
    said = {name.replace("-", "_"): value for name, value in pairs}
    if said.keys() - {"user", "password", "schema", *PARAMETERS}:
        raise refuse(f"what follows the ? may be user, password, schema, {_TLS}", _LOOKS)
    if len(said) != len(pairs):
        raise refuse("says something twice after the ?", _LOOKS)
    return said


def _credentials(parts: SplitResult, said: dict[str, str]) -> tuple[str, str | None]:
    written = unquote(parts.username) if parts.username else None
    user = _one(written, said.get("user"), "user")
    if not user:
        raise refuse("names no user", _LOOKS)
    password = unquote(parts.password) if parts.password else None
    return user, _one(password, said.get("password"), "password")


def _one(first: str | None, second: str | None, what: str) -> str | None:
    if first is not None and second is not None:
        raise refuse(f"says the {what} twice", "keep one")
    return first if first is not None else second


def _schema(name: str | None) -> str | None:
    if name is not None and not SCHEMA_NAME.fullmatch(name):
        raise refuse("a schema's name has letters, digits, _, $ and -, at most 64", _LOOKS)
    return name
