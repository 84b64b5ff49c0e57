"""The port that is listened on, and who has it."""

from __future__ import annotations

import errno
import ipaddress
import socket
from contextlib import suppress
from typing import Any

import psutil

from flatwater.errors import UserError

#: Milliseconds after which the kernel gives up a connection whose other side takes nothing (tcp(7)).
SILENT_MS = 20_000
#: Bytes that the kernel holds for a connection whose other side is slow; it would take megabytes for each.
WAITING_BYTES = 128 * 1024


def open_port(host: str, port: int, where: str | None = None) -> socket.socket:
    """A socket that is bound to the port; port 0 is any free one. `where`: the option that has both, for errors.

    Errors: UserError if it is taken (by whom, as far as it can be seen), or if the host is none of this machine.
    """
    family, address = _resolve(host, port, where)
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT_MS)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, WAITING_BYTES)
        found.bind(address)
        # Only who listens takes a port from others that ask for it, too.
        found.listen(1024)
    except OSError as error:
        found.close()
        raise _explained(error, host, port, where) from None
    found.setblocking(False)
    return found


def is_loopback(opened: socket.socket) -> bool:
    """Whether only this machine reaches it."""
    return ipaddress.ip_address(opened.getsockname()[0].partition("%")[0]).is_loopback


def _resolve(host: str, port: int, where: str | None) -> tuple[int, Any]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "this is no name"
        raise UserError(
            f"there is no such host: {why}", where=where or f"--host {host}", hint="127.0.0.1, or 0.0.0.0"
        ) from None
    family, _, _, _, address = found[0]
    return family, address


def _explained(error: OSError, host: str, port: int, given: str | None) -> UserError:
    where = given or f"--port {port}"
    if error.errno == errno.EADDRINUSE:
        return UserError(
            f"the port is taken by {_user_of(port)}", where=where, hint="another one, or 0 for any free one"
        )
    if error.errno == errno.EACCES:
        return UserError("this user may not listen there", where=where, hint="a port from 1024 on")
    if error.errno == errno.EADDRNOTAVAIL:
        return UserError(
            "no address of this machine", where=given or f"--host {host}", hint="127.0.0.1, or 0.0.0.0 for all"
        )
    return UserError(f"cannot listen: {error.strerror}", where=given or f"{where} --host {host}")


def _user_of(port: int) -> str:
    """Who listens on a port, in words."""
    with suppress(psutil.Error, OSError):
        for one in psutil.net_connections("tcp"):
            if one.status == psutil.CONN_LISTEN and one.laddr and one.laddr.port == port and one.pid is not None:
                return f"process {one.pid} ({psutil.Process(one.pid).name()})"
    return "a process that this user cannot see"
