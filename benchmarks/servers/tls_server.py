"""Real servers that listen on TCP with TLS, in front of certificates that may be changed."""

from __future__ import annotations

import contextlib
import select
import shutil
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.servers.bench import free_port
from benchmarks.servers.certificates import Authority, Pair
from flatwater._engine import Connection
from flatwater.engine_json import to_json
from flatwater.experiment.database.login import Login, Tcp, Tls
from flatwater.server import Binary, Instance

NAMES = ("subjectAltName=DNS:localhost,IP:127.0.0.1",)
#: `ssl.OP_LEGACY_SERVER_CONNECT` of Python 3.12: the server knows no safe renegotiation (RFC 5746), and gets none.
_OP_LEGACY_SERVER_CONNECT = 0x4
PASSWORD = "a pass'word of 25 bytes \x7e"


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

    def serve(self, pair: Pair) -> None:
        """From its next start on it shows another certificate."""
        shutil.copy(pair.cert, self.served.cert)
        pair.write_old_key(self.served.key)

    def show(self, pair: Pair) -> None:
        """From now on it shows another certificate (MariaDB since 10.4)."""
        self.serve(pair)
        self.run("FLUSH SSL")


@contextmanager
def serve_tls(
    binary: Binary, folder: Path, data: Path | None, *, tls: bool = True, own: Mapping[str, str] | None = None
) -> Iterator[TlsServer]:
    """A server on a copy of `data`, or on data of its own, with these settings besides."""
    authority = Authority.make(folder / "authority")
    pair = authority.sign("server", *NAMES)
    served = Pair(folder / "served.pem", folder / "served.key")
    shutil.copy(pair.cert, served.cert)
    pair.write_old_key(served.key)
    port = free_port("127.0.0.1")
    settings = {"innodb_buffer_pool_size": "16M", "skip_networking": "0"}
    if "innodb_log_file_size" in binary.options():
        settings["innodb_log_file_size"] = "16M"
    settings |= {"port": str(port), "bind_address": "127.0.0.1"}
    if tls:
        settings |= {"ssl_ca": str(authority.own.cert), "ssl_cert": str(served.cert), "ssl_key": str(served.key)}
    if "ssl" in binary.options():
        settings["ssl"] = "1" if tls else "0"
    settings |= own or {}
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
        #: The certificate that it shows.
        self.shown = server.served
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
                near.load_cert_chain(self.shown.cert, self.shown.key)
                far = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                far.check_hostname, far.verify_mode = False, ssl.CERT_NONE
                # Their Diffie-Hellman has keys that no library of today takes.
                far.set_ciphers("ALL:!kDHE:@SECLEVEL=0")
                far.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
                far.options |= _OP_LEGACY_SERVER_CONNECT
                server = stack.enter_context(far.wrap_socket(server))
                client = stack.enter_context(near.wrap_socket(client, server_side=True))
            _copy_both(client, server)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def _packet(stream: socket.socket) -> bytes:
    head = stream.recv(4, socket.MSG_WAITALL)
    return head + stream.recv(int.from_bytes(head[:3], "little"), socket.MSG_WAITALL)


def _copy_both(client: socket.socket, server: socket.socket) -> None:
    """Until one of them ends. In one thread: a session of TLS is not read and written at the same time."""
    other = {client: server, server: client}
    while True:
        waiting = [one for one in other if isinstance(one, ssl.SSLSocket) and one.pending()]
        for one in waiting or select.select(list(other), [], [])[0]:
            # What can be read may be a part of a record, or one of TLS itself.
            one.setblocking(False)
            try:
                data = one.recv(2**16)
            except (BlockingIOError, ssl.SSLWantReadError):
                continue
            finally:
                one.setblocking(True)
            if not data:
                return
            other[one].sendall(data)
