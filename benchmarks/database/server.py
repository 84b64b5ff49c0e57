"""The server that all programs use: a real one of this machine, with settings that the page prints."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import psutil

from benchmarks.database.work import Address, Link
from benchmarks.loopback import USER, let_in, tcp_settings
from flatwater.experiment.database.login import Login
from flatwater.server import Instance, find_server

#: What differs from the server's defaults. The data fit into memory and pages are written once, so that programs are
#: compared and not the storage; commits do not wait for it for the same reason. Ten thousand connections, and some to
#: look on.
SETTINGS = {
    "innodb_buffer_pool_size": "2G",
    "innodb_log_file_size": "2G",
    "innodb_doublewrite": "0",
    "innodb_flush_log_at_trx_commit": "2",
    "innodb_flush_method": "O_DIRECT",
    "local_infile": "1",
    "max_connections": "10100",
}
#: What `--quick` makes smaller: a redo log is written once when the server is made.
QUICK = {"innodb_log_file_size": "256M"}


class TestedServer:
    """An empty data directory in `folder`, and a server on it until the end of the `with`."""

    # pytest looks for tests by name.
    __test__ = False

    def __init__(self, folder: Path, *, quick: bool = False) -> None:
        self.settings = SETTINGS | (QUICK if quick else {})
        listening = tcp_settings()
        self._port = int(listening["port"])
        self._instance = Instance(find_server(None), folder / "server", self.settings | listening)

    def __enter__(self) -> TestedServer:
        try:
            self._instance.initialise()
            self._instance.start()
            let_in(self._instance)
        except BaseException:
            self._instance.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._instance.stop()
        finally:
            self._instance.close()

    @property
    def title(self) -> str:
        """Its name and version."""
        return self._instance.binary.title

    @property
    def pid(self) -> int:
        """Its process."""
        return self._instance.pid

    def login(self, schema: str | None = None) -> Login:
        """How flatwater's engine logs in."""
        return self._instance.login(schema)

    def address(self, link: Link = "socket") -> Address:
        """How programs reach it: the account may do everything."""
        login = self.login()
        if link == "TCP":
            return Address(str(login.address), USER, login.password, self._port)
        return Address(str(login.address), login.user, login.password)

    def my_cnf(self) -> str:
        """Its settings, without the paths of its files."""
        return "\n".join(["[mysqld]", *(f"{name} = {value}" for name, value in self.settings.items())])

    def query(self, sql: str) -> list[tuple[str | None, ...]]:
        """Rows of a statement. Errors: FlatwaterError, also when the server has died."""
        return self._instance.query(sql)

    def cpu_s(self) -> float:
        """User and system time of its process since its start."""
        times = psutil.Process(self.pid).cpu_times()
        return float(times.user + times.system)

    def status(self, name: str) -> int:
        """A counter of SHOW GLOBAL STATUS."""
        return int(self.query(f"SHOW GLOBAL STATUS LIKE '{name}'")[0][1] or 0)
