"""Real database servers for the tests of this folder; what they load is loaded once."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import Lab
from serverlab import ServerLab

from flatwater.errors import UserError
from flatwater.server import Binary, find_server


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
