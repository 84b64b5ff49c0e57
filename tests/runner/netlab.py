"""Networks of this machine for tests, and a server that listens on one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from benchmarks.servers import network
from benchmarks.servers.bench import free_port
from benchmarks.servers.network import Network

from flatwater.server import Binary, Instance


@contextmanager
def open_network(hosts: int) -> Iterator[Network]:
    """A network of so many load hosts; skips the test where none can be made."""
    if (why_not := network.why_no_network()) is not None:
        pytest.skip(why_not)
    with network.open_network(hosts) as made:
        yield made


class NetServer:
    """A server that listens on the network."""

    user, password = "bench", "geheim-4711"

    def __init__(self, instance: Instance, address: str, port: int) -> None:
        self.instance = instance
        self._place = f"{address}:{port}"

    def url(self, schema: str) -> str:
        """Its url, with the password."""
        return f"mysql://{self.user}:{self.password}@{self._place}/{schema}"

    def allow(self, *hosts: str) -> None:
        """From now on the account may log in from these addresses only."""
        for (host,) in self.instance.query(f"SELECT host FROM mysql.user WHERE user = '{self.user}'"):
            self.instance.query(f"DROP USER {self.user}@'{host}'")
        for host in hosts:
            self.instance.query(f"CREATE USER {self.user}@'{host}' IDENTIFIED BY '{self.password}'")
            self.instance.query(f"GRANT ALL ON *.* TO {self.user}@'{host}'")

    @contextmanager
    def logged(self) -> Iterator[Callable[[], list[list[str]]]]:
        """Logs what clients send. The function gives the prepared statements of each session, in their order."""

        def statements() -> list[list[str]]:
            sessions: dict[str, list[str]] = {}
            asked = "SELECT thread_id, argument FROM mysql.general_log WHERE command_type = 'Execute'"
            for thread, argument in self.instance.query(asked):
                sessions.setdefault(thread or "", []).append(argument or "")
            return list(sessions.values())

        self.instance.query("TRUNCATE mysql.general_log")
        self.instance.query("SET GLOBAL log_output = 'TABLE'")
        self.instance.query("SET GLOBAL general_log = ON")
        try:
            yield statements
        finally:
            self.instance.query("SET GLOBAL general_log = OFF")

    def schema(self, name: str) -> str:
        """An empty schema, and its name."""
        self.instance.query(f"DROP DATABASE IF EXISTS {name}")
        self.instance.query(f"CREATE DATABASE {name}")
        return name


@contextmanager
def serve(binary: Binary, folder: Path, address: str) -> Iterator[NetServer]:
    """A server that listens on one address of this machine."""
    port = free_port(address)
    settings = {"innodb_buffer_pool_size": "64M", "innodb_log_file_size": "32M"}
    settings |= {"skip_networking": "0", "bind_address": address, "port": str(port), "skip_name_resolve": "1"}
    with Instance(binary, folder, settings) as instance:
        instance.initialise()
        instance.start()
        server = NetServer(instance, address, port)
        server.allow("%")
        yield server
