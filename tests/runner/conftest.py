"""Real database servers for the tests of this folder; what they load is loaded once."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from lab import Lab
from serverlab import SMALL, Foreign, ServerLab
from watchedlab import WatchedServer, make_empty, starting

from flatwater.errors import UserError
from flatwater.server import Binary, Instance, find_server


@pytest.fixture(scope="session")
def binary() -> Binary:
    try:
        return find_server()
    except UserError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def storage(binary: Binary, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where servers and snapshots of all these tests are."""
    return tmp_path_factory.mktemp("servers")


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where private folders are made, under a path that is short enough for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="flatwater-test-"))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def servers(lab: Lab, storage: Path, sockets: Path) -> Iterator[ServerLab]:
    """A place to run experiments on servers in."""
    servers = ServerLab(lab, storage, sockets)
    yield servers
    lab.close()
    servers.until_gone()
    # What a killed run left waits for its result to go on with it, and no other test's does.
    shutil.rmtree(storage / "flatwater-servers" / "run", ignore_errors=True)


@pytest.fixture(scope="session")
def foreign(binary: Binary, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Foreign]:
    """A server that is not flatwater's to change."""
    place = Path(tempfile.mkdtemp(prefix="flatwater-test-"))
    # A replay asks what a lock wait timeout does: most servers keep the transaction.
    settings = SMALL | {"innodb_rollback_on_timeout": "ON"}
    with Instance(
        binary, tmp_path_factory.mktemp("foreign"), settings, socket_folder=place, name="foreign"
    ) as instance:
        instance.initialise()
        instance.start()
        foreign = Foreign(instance, place / "mysql.sock")
        instance.query(f"CREATE USER {foreign.user}@localhost IDENTIFIED BY '{foreign.password}'")
        instance.query(f"GRANT ALL ON *.* TO {foreign.user}@localhost")
        yield foreign
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def stranger() -> Iterator[Callable[[str], None]]:
    """Starts a program of a shell's line that is no child of this process: what a run started is no neighbour of it."""
    with ExitStack() as running:

        def start(line: str) -> None:
            # The shell ends at once, and its child becomes another's. It leads a group of its own.
            command = ["setsid", "sh", "-c", f"({line}) > /dev/null 2>&1 & echo $$"]
            leader = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            running.callback(os.killpg, int(leader), signal.SIGKILL)

        yield start


@pytest.fixture
def burners(stranger: Callable[[str], None]) -> None:
    """Programs that use every processor."""
    for _ in range(8):
        stranger(f"exec '{sys.executable}' -S -c 'while True: pass'")


@pytest.fixture(scope="session")
def empty(binary: Binary, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with accounts that need no password."""
    return make_empty(binary, tmp_path_factory.mktemp("watched"))


@pytest.fixture
def make_server(binary: Binary, empty: Path) -> Iterator[Callable[..., WatchedServer]]:
    """`make_server(OPTION...)` starts one more server."""
    with starting(binary, empty) as make:
        yield make


@pytest.fixture
def server(make_server: Callable[..., WatchedServer]) -> WatchedServer:
    """One server at work."""
    server = make_server()
    server.work()
    return server
