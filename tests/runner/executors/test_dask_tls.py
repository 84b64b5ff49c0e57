"""The commands of docs/sweeps.md, as they stand there: who can reach a cluster's processes, and who is taken in.

Dask's processes unpickle what comes in, and listen on 0.0.0.0 unless they are told where.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from dasklab import DocumentedCluster, make_certificates
from lab import Lab
from modelledlab import write_modelled

pytest.importorskip("distributed")
_TLS = "DASK_DISTRIBUTED__COMM__TLS__"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    return make_certificates(tmp_path_factory.mktemp("tls") / "certificates", "own", "client")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocumentedCluster]:
    with closing(DocumentedCluster(tmp_path_factory.mktemp("plain"), "tcp")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory, certificates: Path) -> Iterator[DocumentedCluster]:
    with closing(DocumentedCluster(tmp_path_factory.mktemp("secured"), "tls", certificates)) as cluster:
        yield cluster


def show(monkeypatch: pytest.MonkeyPatch, ca: Path, certificate: Path) -> None:
    """What a client shows, told to dask as the documentation tells it."""
    monkeypatch.setenv(f"{_TLS}CA_FILE", str(ca))
    monkeypatch.setenv(f"{_TLS}CLIENT__CERT", str(certificate))
    monkeypatch.setenv(f"{_TLS}CLIENT__KEY", str(certificate.with_suffix(".key")))


@pytest.mark.parametrize("which", ["plain", "secured"])
def test_the_documented_commands_listen_where_they_are_told_only(which: str, request: pytest.FixtureRequest) -> None:
    cluster: DocumentedCluster = request.getfixturevalue(which)
    heard = {
        connection.laddr.ip
        for process in cluster.processes
        for connection in psutil.Process(process).net_connections()
        if connection.status == psutil.CONN_LISTEN
    }
    assert heard == {"127.0.0.1", "127.0.0.2"}


def test_cells_run_over_tls_and_are_the_same(
    lab: Lab, secured: DocumentedCluster, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    show(monkeypatch, certificates / "ca.pem", certificates / "client.pem")
    assert secured.address.startswith("tls://")
    file = write_modelled(lab, [100.0 * number for number in range(1, 9)])
    there = lab.start(file, "--json", "--on", secured.address).wait()
    assert there.code == 0, there.stderr
    here = lab.run(file, out=lab.folder / "here")
    for name in ("series.parquet", "histograms.parquet"):
        assert (there.out / name).read_bytes() == (here.out / name).read_bytes()
    # A real cell too: on the worker's own storage, in its own folder.
    real = lab.write({"mode": "rndrd", "direct": False}, {"path": "data"})
    ran = lab.start(real, "--json", "--on", secured.address).wait()
    assert ran.code == 0, ran.stderr
    assert list((secured.folder / "worker" / "data").iterdir())


@pytest.mark.slow
def test_who_shows_no_certificate_of_ours_is_not_taken_in(
    lab: Lab, secured: DocumentedCluster, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_modelled(lab, [100.0])
    refused = {}
    refused["none"] = lab.start(file, "--on", secured.address, out=lab.folder / "none").wait()
    show(monkeypatch, certificates / "ca.pem", certificates / "stranger.pem")
    refused["stranger"] = lab.start(file, "--on", secured.address, out=lab.folder / "stranger").wait()
    show(monkeypatch, certificates / "stranger.pem", certificates / "client.pem")
    refused["another scheduler"] = lab.start(file, "--on", secured.address, out=lab.folder / "other").wait()
    show(monkeypatch, certificates / "ca.pem", certificates / "absent.pem")
    refused["no file"] = lab.start(file, "--on", secured.address, out=lab.folder / "absent").wait()
    without = secured.address.replace("tls://", "tcp://")
    refused["no tls"] = lab.start(file, "--on", without, out=lab.folder / "tcp").wait()
    # `wait` has made sure of one line of error and no traceback each.
    codes = {who: ran.code for who, ran in refused.items()}
    assert codes == {"none": 2, "stranger": 1, "another scheduler": 1, "no file": 2, "no tls": 1}
    assert "tls:// needs certificates, and dask's configuration names none" in refused["none"].error
    assert "cannot be used: [Errno 2] No such file or directory" in refused["no file"].error
    assert not any((ran.out / "flatwater.json").exists() for ran in refused.values())
