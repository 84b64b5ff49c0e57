"""Real servers that listen on TCP with TLS, in front of certificates that a test may change."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from certificates import Authority, Pair

from flatwater._engine import Connection
from flatwater.engine_json import to_json
from flatwater.errors import UserError
from flatwater.experiment.database.login import Login, Tcp, Tls
from flatwater.server import Binary, Instance, find_server

#: Where servers of other families may be: a folder each, as their tarballs are packed.
SERVERS = Path(os.environ.get("FLATWATER_SERVERS", "~/.cache/flatwater/servers")).expanduser()
#: MariaDB's plugin for ed25519, which not every package of the server has.
PLUGIN = "auth_ed25519.so"
NAMES = ("subjectAltName=DNS:localhost,IP:127.0.0.1",)
PASSWORD = "a pass'word of 25 bytes \x7e"


#: The first MySQL whose packages have OpenSSL 1.1 or later, and so elliptic curves, which flatwater's TLS takes only.
MODERN = (8, 0, 16)


def find_mysql(*, modern: bool) -> Binary | None:
    """The newest MySQL since 8.0 in the folder of servers whose library of TLS is of today, or old. None: no such."""
    found: list[Binary] = []
    for path in sorted(path for folder in ("bin", "*/bin", "usr/sbin") for path in SERVERS.glob(f"*/{folder}/mysqld")):
        try:
            found.append(find_server(str(path)))
        except UserError:
            continue
    mysql = [
        one for one in found if one.flavour == "mysql" and one.version >= (8, 0) and (one.version >= MODERN) == modern
    ]
    return max(mysql, key=lambda one: one.version, default=None)


@dataclass(frozen=True)
class TlsServer:
    """A server on a port of 127.0.0.1, and who signed its certificate."""

    instance: Instance
    authority: Authority
    port: int
    served: Pair
    #: Another port, where the server's own TLS is too old.
    tls_port: int = 0

    @property
    def ca(self) -> str:
        """The file of its authority."""
        return str(self.authority.own.cert)

    def login(self, user: str, password: str = PASSWORD, tls: Tls | None = None, host: str = "127.0.0.1") -> Login:
        """How to reach it over TCP."""
        port = self.tls_port if tls is not None and self.tls_port else self.port
        return Login(Tcp((host, port)), user, password, None, tls)

    def run(self, *statements: str) -> None:
        """Runs statements as the account that may do anything, over the socket."""
        connection = Connection(to_json(self.instance.login()))
        for statement in statements:
            connection.query(statement)
        connection.close()

    def ask(self, sql: str) -> list[tuple[str | None, ...]]:
        """The rows of a question, as the account that may do anything."""
        connection = Connection(to_json(self.instance.login()))
        rows = connection.query(sql)
        connection.close()
        return rows

    def variable(self, name: str) -> str:
        """One of its variables, '' if it has none of the name."""
        rows = self.ask(f"SHOW GLOBAL VARIABLES LIKE '{name}'")
        return rows[0][1] or "" if rows else ""

    def show(self, pair: Pair) -> None:
        """From now on it shows another certificate (MariaDB since 10.4)."""
        shutil.copy(pair.cert, self.served.cert)
        shutil.copy(pair.key, self.served.key)
        self.run("FLUSH SSL")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def serve_tls(binary: Binary, folder: Path, data: Path | None, *, tls: bool = True) -> Iterator[TlsServer]:
    """A server on a copy of `data`, or on data of its own."""
    authority = Authority.make(folder / "authority")
    pair = authority.sign("server", *NAMES)
    served = Pair(folder / "served.pem", folder / "served.key")
    shutil.copy(pair.cert, served.cert)
    shutil.copy(pair.key, served.key)
    port = _free_port()
    settings = {"innodb_buffer_pool_size": "16M", "skip_networking": "0"}
    if "innodb_log_file_size" in binary.options():
        settings["innodb_log_file_size"] = "16M"
    settings |= {"port": str(port), "bind_address": "127.0.0.1"}
    if tls:
        settings |= {"ssl_ca": str(authority.own.cert), "ssl_cert": str(served.cert), "ssl_key": str(served.key)}
    if "ssl" in binary.options():
        settings["ssl"] = "1" if tls else "0"
    if (SERVERS / PLUGIN).exists():
        # A server takes plugins of its own version only.
        settings["plugin_dir"] = str(SERVERS)
    with Instance(binary, folder / "server", settings) as instance:
        if data is None:
            instance.initialise()
        else:
            shutil.copytree(data, instance.data)
        instance.start()
        yield TlsServer(instance, authority, port, served)


class TlsHop:
    """Between a client and a server whose library is too old for the client: two sessions of TLS, one behind the other.

    What is logged in with, and how the server takes it, stays the server's own.
    """

    def __init__(self, server: TlsServer) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            stack.enter_context(client)
            server = stack.enter_context(socket.create_connection(("127.0.0.1", self._server.port)))
            client.sendall(_packet(server))
            head = _packet(client)
            server.sendall(head)
            # The request for TLS is the beginning of a login, and nothing more.
            if len(head) == 36:
                near = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                near.load_cert_chain(self._server.served.cert, self._server.served.key)
                far = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                far.check_hostname, far.verify_mode = False, ssl.CERT_NONE
                far.set_ciphers("ALL:@SECLEVEL=0")
                server = stack.enter_context(far.wrap_socket(server))
                client = stack.enter_context(near.wrap_socket(client, server_side=True))
            both = [threading.Thread(target=_copy, args=pair) for pair in ((client, server), (server, client))]
            for one in both:
                one.start()
            for one in both:
                one.join()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def _packet(stream: socket.socket) -> bytes:
    head = stream.recv(4, socket.MSG_WAITALL)
    return head + stream.recv(int.from_bytes(head[:3], "little"), socket.MSG_WAITALL)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(2**16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


@contextmanager
def serve_mysql(folder: Path, *, modern: bool) -> Iterator[TlsServer]:
    """A MySQL whose library of TLS is of today; or an old one, behind a hop with TLS of today. Skips without one."""
    binary = find_mysql(modern=modern)
    if binary is None:
        pytest.skip(f"no {'newer' if modern else 'older'} MySQL since 8.0 in {SERVERS} (FLATWATER_SERVERS)")
    with serve_tls(binary, folder, None) as server:
        if modern:
            yield server
            return
        hop = TlsHop(server)
        try:
            yield replace(server, tls_port=hop.port)
        finally:
            hop.close()
