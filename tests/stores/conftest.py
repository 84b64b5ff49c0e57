from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

# the import mode of pytest does not
sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "report"))
import synthetic
from modelledlab import APPLIANCE
from s3lab import OWNER, Bucket, S3Server

_NUMBERS = count(1)


@pytest.fixture(scope="session")
def a_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    server = S3Server(tmp_path_factory.mktemp("s3"))
    yield server
    server.kill()


@pytest.fixture
def login(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The login of the server's owner, and none of this machine's own."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", OWNER[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", OWNER[1])


@pytest.fixture
def bucket(a_server: S3Server, login: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bucket:
    """A new bucket of a real server."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", a_server.url)
    folder = tmp_path / "here"
    folder.mkdir()
    return Bucket(a_server, f"lab-{next(_NUMBERS)}", folder)


@pytest.fixture
def own_server(login: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Bucket]:
    """A bucket of a server that the test may kill."""
    server = S3Server(tmp_path / "s3")
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    folder = tmp_path / "here"
    folder.mkdir()
    yield Bucket(server, "lab", folder)
    server.kill()


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """A modelled experiment of three cells, computed in a moment."""
    device = tmp_path / "appliance.toml"
    device.write_text(APPLIANCE)
    file = tmp_path / "tiny.toml"
    file.write_text(
        f"""
name = "tiny"
[workload]
kind = "fileio"
mode = "rndrw"
duration_s = 20
[storage]
kind = "memory"
device = "{device}"
size = "64MiB"
[sweep]
"workload.rate_per_s" = [10, 20, 30]
"""
    )
    return file


@pytest.fixture
def result(tmp_path: Path) -> Path:
    """A result folder."""
    return synthetic.single(tmp_path / "single", 300)
