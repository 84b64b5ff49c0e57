"""Machines of a network: namespaces with a network of their own, joined by a bridge of this machine.

This machine is the coordinator, with the server and dask's scheduler. Each load host is a namespace with an address and
a link that can be cut. All of them share the processors of this machine, so nothing here is a measurement.
"""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from dasklab import Cluster

from flatwater.server import Binary, Instance


def why_no_network() -> str | None:
    """Why no namespaces can be made; None if they can."""
    if os.geteuid() != 0:
        return "network namespaces take root"
    if shutil.which("ip") is None:
        return "there is no program ip (Debian's iproute2)"
    name = f"fw{os.getpid()}t"
    tried = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if tried.returncode != 0:
        return f"ip netns add: {tried.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", name], check=True)
    return None


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


#: Counts the networks of this process.
_NETWORKS = itertools.count()


@contextmanager
def open_network(hosts: int) -> Iterator[Network]:
    """A network of so many load hosts; skips the test where none can be made."""
    if (why_not := why_no_network()) is not None:
        pytest.skip(why_not)
    with ExitStack() as undo:
        yield Network(hosts, undo)


class Network:
    """A bridge, and one namespace for each load host."""

    def __init__(self, hosts: int, undo: ExitStack) -> None:
        self._undo = undo
        # A process may have several. The kernel gives names of 15 letters at most.
        number = next(_NETWORKS)
        self._name = f"fw{os.getpid()}{chr(ord('a') + number)}"
        # Networks that nobody routes: ten for each process that tests at the same time.
        self._prefix = f"10.{50 + os.getpid() // 250 % 20 * 10 + number % 10}.{os.getpid() % 250}"
        _ip("link", "add", self._name, "type", "bridge")
        undo.callback(_ip, "link", "del", self._name)
        _ip("addr", "add", f"{self.coordinator}/24", "dev", self._name)
        _ip("link", "set", self._name, "up")
        for number in range(hosts):
            self._add(number)

    def _add(self, number: int) -> None:
        space, outer, inner = self.space(number), f"{self._name}o{number}", f"{self._name}i{number}"
        _ip("netns", "add", space)
        self._undo.callback(_ip, "netns", "del", space)
        _ip("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", space)
        _ip("link", "set", outer, "master", self._name, "up")
        _ip("-n", space, "addr", "add", f"{self.address(number)}/24", "dev", inner)
        _ip("-n", space, "link", "set", inner, "up")
        _ip("-n", space, "link", "set", "lo", "up")

    @property
    def coordinator(self) -> str:
        """The address of this machine."""
        return f"{self._prefix}.1"

    def space(self, number: int) -> str:
        """The namespace of a load host."""
        return f"{self._name}n{number}"

    def address(self, number: int) -> str:
        """The address of a load host."""
        return f"{self._prefix}.{number + 2}"

    def cut(self, number: int) -> None:
        """Cuts the link of a load host. It comes back with `mend`."""
        _ip("link", "set", f"{self._name}o{number}", "down")

    def mend(self, number: int) -> None:
        """Joins a load host again."""
        _ip("link", "set", f"{self._name}o{number}", "up")


class NetCluster(Cluster):
    """A scheduler on this machine, and workers on the load hosts."""

    def __init__(self, folder: Path, network: Network) -> None:
        self.folder = folder
        self.network = network
        self._started = []
        self.scheduler = self.start_scheduler(
            "--host", network.coordinator, "--no-dashboard", "--dashboard-address", f"{network.coordinator}:0"
        )

    def load_host(
        self,
        number: int,
        *,
        through: tuple[str, ...] = (),
        preload: Path | None = None,
        python_path: Path | None = None,
    ) -> subprocess.Popen[bytes]:
        """Starts the worker of a load host; `through` is a program that starts it, `preload` is imported by it."""
        enter = ("ip", "netns", "exec", self.network.space(number), *through)
        options = ["--host", self.network.address(number), "--no-nanny", "--no-dashboard", "--nthreads", "1"]
        options += ["--resources", "flatwater=1", *(["--preload", str(preload)] if preload else [])]
        return self.start_worker_through(enter, f"host{number}", self.address, *options, python_path=python_path)


def _free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port


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
    port = _free_port(address)
    settings = {"innodb_buffer_pool_size": "64M", "innodb_log_file_size": "32M"}
    settings |= {"skip_networking": "0", "bind_address": address, "port": str(port), "skip_name_resolve": "1"}
    with Instance(binary, folder, settings) as instance:
        instance.initialise()
        instance.start()
        server = NetServer(instance, address, port)
        server.allow("%")
        yield server
