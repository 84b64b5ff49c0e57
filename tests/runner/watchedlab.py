"""Servers that somebody else runs, with a port, clients of their own, and whatever may happen to them."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.servers.watched import settled
from waiting import PATIENCE_S

from flatwater._engine import Connection, EngineError
from flatwater.engine_json import to_json
from flatwater.experiment.database.login import Login, Socket
from flatwater.server import Binary, Instance

#: Short: the path of a socket has little room.
SMALL = ("--innodb-buffer-pool-size=16M", "--loose-innodb-log-file-size=16M", "--skip-name-resolve", "--loose-skip-ssl")
#: MySQL has a second protocol with a port of its own, which all servers of a test would want. Packages of it name a
#: folder for files that only their installation makes.
MYSQL = ("--loose-mysqlx=OFF", "--secure-file-priv=")


def make_empty(binary: Binary, folder: Path) -> Path:
    """A data directory with accounts `root` and `nobody` that need no password."""
    with Instance(binary, folder, {"innodb_buffer_pool_size": "16M"}) as instance:
        instance.initialise()
        instance.start()
        for user in ("root", "nobody"):
            for host in ("localhost", "127.0.0.1", "10.%"):
                instance.query(f"CREATE USER IF NOT EXISTS {user}@'{host}'")
                instance.query(f"ALTER USER {user}@'{host}' IDENTIFIED BY ''")
                if user == "root":
                    instance.query(f"GRANT ALL ON *.* TO {user}@'{host}' WITH GRANT OPTION")
        instance.stop()
        data = Path(shutil.copytree(instance.data, folder / "empty"))
    # MySQL's own name: of a pair, each has another.
    (data / "auto.cnf").unlink(missing_ok=True)
    return data


@dataclass
class WatchedServer:
    """A server on a port and on a socket. Its data directory is a copy of `empty`."""

    binary: Binary
    folder: Path
    empty: Path
    options: Sequence[str] = ()
    #: A program that starts it, and the address where it listens then.
    through: Sequence[str] = ()
    address: str = "127.0.0.1"
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    _clients: list[threading.Thread] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    #: Transactions that the clients ended.
    ended: int = 0

    def __post_init__(self) -> None:
        shutil.copytree(self.empty, self.folder / "data")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    @property
    def _own(self) -> Sequence[str]:
        return MYSQL if self.binary.flavour == "mysql" else ()

    @property
    def socket(self) -> Path:
        return self.folder / "s"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def url(self, user: str = "root", password: str = "") -> str:
        return f"mysql://{self.socket}?user={user}" + (f"&password={password}" if password else "")

    def tcp_url(self, user: str = "root") -> str:
        return f"mysql://{user}@{self.address}:{self.port}"

    def start(self) -> None:
        said = (self.folder / "said").open("wb")
        self.process = subprocess.Popen(
            [
                *(
                    *self.through,
                    self.binary.path,
                    "--no-defaults",
                    f"--datadir={self.folder / 'data'}",
                    f"--socket={self.socket}",
                ),
                *(f"--port={self.port}", f"--bind-address={self.address}", f"--pid-file={self.folder / 'pid'}"),
                *(f"--log-error={self.folder / 'log'}", "--user=root", *SMALL, *self._own, *self.options),
            ],
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        said.close()
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                self.query("SELECT 1")
                return
            except EngineError:
                assert time.monotonic() < until and self.process.poll() is None, self._said()
                time.sleep(0.1)

    def _said(self) -> str:
        """Its log, and what it said before it had one."""
        return "".join(path.read_text() for path in (self.folder / "log", self.folder / "said") if path.exists())

    def query(self, sql: str, user: str = "root", password: str = "") -> list[tuple[str | None, ...]]:
        connection = Connection(to_json(Login(Socket(str(self.socket)), user, password, None)))
        try:
            return connection.query(sql)
        finally:
            connection.close()

    def variables(self) -> dict[str, str]:
        """All variables, without those that tell the time."""
        return settled({name or "": value or "" for name, value in self.query("SHOW GLOBAL VARIABLES")})

    def work(self, clients: int = 2, pause_s: float = 0.01) -> None:
        """Clients that change a row in transactions, until the server is closed. They come back after an error."""
        self.query("CREATE DATABASE IF NOT EXISTS t")
        self.query("CREATE TABLE IF NOT EXISTS t.a (id INT PRIMARY KEY, k INT) ENGINE = InnoDB")
        rows = ", ".join(f"({number}, 0)" for number in range(1, 1001))
        self.query(f"REPLACE INTO t.a VALUES {rows}")
        for number in range(clients):
            self._clients.append(threading.Thread(target=self._client, args=(number, pause_s), daemon=True))
            self._clients[-1].start()

    def _client(self, number: int, pause_s: float) -> None:
        connection: Connection | None = None
        login, turn = to_json(Login(Socket(str(self.socket)), "root", "", "t")), 0
        while not self._over.wait(pause_s):
            turn += 1
            try:
                connection = connection or Connection(login, 2.0)
                connection.query("BEGIN")
                connection.query(f"UPDATE a SET k = k + 1 WHERE id = {(turn * 7 + number) % 1000 + 1}")
                connection.query("COMMIT")
                self.ended += 1
            except EngineError:
                connection = None
                self._over.wait(0.1)

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        assert self.process is not None
        self.process.wait()

    def close(self) -> None:
        self._over.set()
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
        for thread in self._clients:
            thread.join()


@contextmanager
def starting(binary: Binary, empty: Path) -> Iterator[Callable[..., WatchedServer]]:
    """A function that starts one more server, with options, on a copy of the data. In the end all are closed."""
    with ExitStack() as made, tempfile.TemporaryDirectory(prefix="flatwater-test-") as folder:

        def make(*options: str) -> WatchedServer:
            server = WatchedServer(binary, Path(tempfile.mkdtemp(dir=folder)), empty, options)
            made.callback(server.close)
            server.start()
            return server

        yield make
