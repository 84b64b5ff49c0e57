from __future__ import annotations

import os
import socket

import psutil
import pytest

from flatwater.errors import UserError
from flatwater.serve import port as port_module
from flatwater.serve.port import is_loopback, open_port


def test_any_free_port_of_this_machine_only() -> None:
    with open_port("127.0.0.1", 0) as opened:
        assert opened.getsockname()[1] > 0 and is_loopback(opened)
    with open_port("localhost", 0) as opened:
        assert is_loopback(opened)


@pytest.mark.parametrize("host", ["0.0.0.0"])
def test_all_addresses_are_no_loopback(host: str) -> None:
    with open_port(host, 0) as opened:
        assert not is_loopback(opened)


def test_who_has_the_port_is_named() -> None:
    with open_port("127.0.0.1", 0) as opened:
        number = opened.getsockname()[1]
        with pytest.raises(UserError) as told:
            open_port("127.0.0.1", number)
    assert f"process {os.getpid()} ({psutil.Process().name()})" in str(told.value)
    assert told.value.where == f"--port {number}"


def test_who_has_it_may_not_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(kind: str) -> list[object]:
        raise psutil.AccessDenied

    monkeypatch.setattr(port_module.psutil, "net_connections", refused)
    with open_port("127.0.0.1", 0) as opened, pytest.raises(UserError, match="that this user cannot see"):
        open_port("127.0.0.1", opened.getsockname()[1])


@pytest.mark.parametrize("host", ["", "203.0.113.7", "no.such.host.invalid", "a" * 300, "b\u00fc\u00df..", "1.2.3.4.5"])
def test_a_host_that_is_none(host: str) -> None:
    with pytest.raises(UserError) as told:
        open_port(host, 0)
    assert str(told.value).startswith("--host ") and len(str(told.value).splitlines()) == 1


def test_a_connection_whose_other_side_takes_nothing_is_given_up() -> None:
    with open_port("127.0.0.1", 0) as opened, socket.create_connection(opened.getsockname()):
        opened.setblocking(True)
        accepted, _ = opened.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == port_module.SILENT_MS
