"""Machines of a network: namespaces with a network of their own, joined by a bridge of this machine.

This machine is the coordinator, with the server and dask's scheduler. Each load host is a namespace with an address and
a link that can be cut. All of them share the processors of this machine, so nothing here is a measurement.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.servers.cluster import Cluster
from flatwater.errors import FlatwaterError


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
    """A network of so many load hosts. Errors: FlatwaterError where none can be made."""
    if (why_not := why_no_network()) is not None:
        raise FlatwaterError(why_not)
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

    def enter(self, number: int) -> tuple[str, ...]:
        """What starts a program on a load host."""
        return ("ip", "netns", "exec", self.space(number))

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
        enter = (*self.network.enter(number), *through)
        options = ["--host", self.network.address(number), "--no-nanny", "--no-dashboard", "--nthreads", "1"]
        options += ["--resources", "flatwater=1", *(["--preload", str(preload)] if preload else [])]
        return self.start_worker_through(enter, f"host{number}", self.address, *options, python_path=python_path)
