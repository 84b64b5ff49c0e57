"""How to log in to a server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Socket:
    """A server on this machine, by the path of its socket."""

    socket: str

    def __str__(self) -> str:
        return self.socket


@dataclass(frozen=True)
class Tcp:
    """A server on a network, by its host and port."""

    tcp: tuple[str, int]

    def __str__(self) -> str:
        return ":".join(map(str, self.tcp))


@dataclass(frozen=True)
class Tls:
    """How a connection is encrypted: `Tls` of crates/real. Files are PEM, on the machine that connects."""

    mode: Literal["PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"]
    #: Certificates of the authorities that are trusted; the system's if absent.
    ca: str | None = None
    #: This client's certificate, and its key.
    cert: str | None = None
    key: str | None = None


@dataclass(frozen=True)
class Login:
    """A server and an account there, as every connection of the engine takes it: `Login` of crates/real.

    It holds the password: it is never written anywhere.
    """

    address: Socket | Tcp
    user: str
    password: str = field(repr=False)
    #: The schema to use, if any.
    schema: str | None
    #: None: no TLS.
    tls: Tls | None = None
    #: The server's public key, PEM, for logins without TLS; the server is asked for it if absent.
    server_public_key: str | None = None
