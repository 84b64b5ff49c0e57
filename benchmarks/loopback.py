"""A server of the benchmarks over TCP: flatwater's own are reached through a private socket only."""

from __future__ import annotations

import socket

from flatwater.server import Instance

#: The server listens here alone.
HOST = "127.0.0.1"
#: The account of flatwater's servers is of localhost, which a server that looks up no names knows on its socket.
USER = "bench"


def tcp_settings() -> dict[str, str]:
    """Settings of a server that listens on a free port."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port: int = free.getsockname()[1]
    return {"skip_networking": "0", "bind_address": HOST, "port": str(port)}


def let_in(instance: Instance) -> None:
    """Makes the account of programs that come over TCP: it may do everything, with the password of the other account.

    Errors: FlatwaterError.
    """
    instance.query(f"CREATE USER {USER}@'%' IDENTIFIED BY '{instance.login().password}'")
    instance.query(f"GRANT ALL ON *.* TO {USER}@'%'")
