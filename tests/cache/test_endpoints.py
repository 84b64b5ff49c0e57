"""The sockets of a cache, without a serving process and without a mount."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from flatwater.cache.endpoints import Endpoints
from flatwater.cache.state import CacheState, read_socket, running_folder, socket_identity


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short path, as sockets need."""
    with tempfile.TemporaryDirectory(prefix="flatwater-test-") as made:
        monkeypatch.setenv("FLATWATER_STATE_DIR", made)
        yield Path(made)


@pytest.fixture
def state(folder: Path) -> CacheState:
    for name in ("fast", "backing"):
        (folder / name).touch()
    fast, backing = str(folder / "fast"), str(folder / "backing")
    return CacheState(
        name="db",
        uuid="",
        fast=fast,
        backing=backing,
        pair="",
        block_bytes=16384,
        fast_bytes=0,
        slow_bytes=0,
        nbd=str(folder / "nbd"),
    )


def test_its_sockets_are_private_and_accept_clients(state: CacheState) -> None:
    endpoints = Endpoints(state, {})
    endpoints.open()
    control = running_folder("db") / "control"
    assert stat.S_IMODE(control.stat().st_mode) == 0o600
    with socket.socket(socket.AF_UNIX) as client, endpoints.listener() as listener:
        client.connect(str(control))
        listener.accept()[0].close()
    assert endpoints.nbd_file == socket_identity(Path(state.nbd or "")) == read_socket("db")
    assert set(endpoints.fds) == {"control", "nbd"}
    endpoints.close_nbd()
    assert not Path(state.nbd or "").exists() and read_socket("db") is None
    assert (endpoints.nbd, set(endpoints.fds)) == (None, {"control"})
    endpoints.close_nbd()


def test_a_socket_that_a_killed_process_left_is_made_anew(state: CacheState) -> None:
    Endpoints(state, {}).open()
    endpoints = Endpoints(state, {})
    endpoints.open()
    assert endpoints.nbd_file == socket_identity(Path(state.nbd or ""))


def test_a_file_that_somebody_else_put_there_stays(state: CacheState) -> None:
    endpoints = Endpoints(state, {})
    endpoints.open()
    socket_file = Path(state.nbd or "")
    socket_file.unlink()
    socket_file.write_text("of somebody else")
    endpoints.close_nbd()
    assert socket_file.read_text() == "of somebody else"


def test_the_next_process_goes_on_with_what_was_opened(state: CacheState) -> None:
    first = Endpoints(state, {})
    first.open()
    Endpoints(state, first.fds, nbd_file=first.nbd_file).close_nbd()
    assert not Path(state.nbd or "").exists()


def test_a_device_that_was_replaced_is_noticed(state: CacheState) -> None:
    fast = os.open(state.fast, os.O_RDONLY)
    try:
        endpoints = Endpoints(state, {"fast": fast})
        assert not endpoints.was_removed("fast")
        Path(state.fast).unlink()
        assert endpoints.was_removed("fast")
        assert not endpoints.was_removed("backing"), "it is not held open"
    finally:
        os.close(fast)


def test_without_a_mount_there_is_nothing_to_end(state: CacheState) -> None:
    endpoints = Endpoints(state, {})
    assert (endpoints.unmount(lazily=False), endpoints.fuse, endpoints.protocol) == (True, None, None)
    endpoints.unmount_after_failure()
