"""A network of this machine: two load hosts, a server, and a dask cluster over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from benchmarks.servers.network import NetCluster, Network
from netlab import NetServer, open_network, serve

from flatwater.server import Binary

MakeCluster = Callable[[], NetCluster]


@pytest.fixture(scope="package")
def network() -> Iterator[Network]:
    with open_network(2) as network:
        yield network


@pytest.fixture(scope="package")
def net_server(network: Network, binary: Binary, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NetServer]:
    """A server that the load hosts reach."""
    with serve(binary, tmp_path_factory.mktemp("net-server"), network.coordinator) as server:
        yield server


@pytest.fixture
def cluster(network: Network, tmp_path: Path) -> Iterator[NetCluster]:
    """A cluster without load hosts."""
    pytest.importorskip("distributed")
    with closing(NetCluster(tmp_path / "cluster", network)) as cluster:
        yield cluster


@pytest.fixture
def two_hosts(cluster: NetCluster) -> NetCluster:
    """A cluster with both load hosts. Not of several tests: a link that one of them cuts is cut for all clusters."""
    cluster.load_host(0)
    cluster.load_host(1)
    return cluster
