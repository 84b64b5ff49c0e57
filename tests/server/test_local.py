"""The process behind a port or a socket."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from waiting import until

from flatwater.experiment.database.login import Login, Tcp
from flatwater.server import Attached, Instance, describe, find_local, is_stopped


def tcp(host: str, port: int) -> Login:
    return Login(Tcp((host, port)), "u", "", None)


def test_over_a_socket(make_instance: Callable[..., Instance]) -> None:
    instance = make_instance()
    instance.start()
    found = find_local(instance.login(), describe(instance.login()))
    assert (found.pid, found.data, found.why_not) == (instance.pid, instance.data, "")
    assert not is_stopped(instance.pid)
    instance.freeze()
    # A signal stops each thread when it next runs: the kernel says so later than `kill` returns.
    until(lambda: is_stopped(instance.pid), "it is not frozen")
    instance.thaw()


def test_another_program_on_the_port_is_not_the_server(tmp_path: Path) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        told = Attached("mariadb", (10, 11, 0), "", "", {"datadir": str(tmp_path), "pid_file": str(tmp_path / "pid")})
        (tmp_path / "pid").write_text(str(os.getpid()))
        found = find_local(tcp("localhost", listening.getsockname()[1]), told)
    assert found.pid is None and found.data is None and "root" in found.why_not


def test_a_server_elsewhere() -> None:
    # TEST-NET-1, which is nobody's (RFC 5737).
    found = find_local(tcp("192.0.2.1", 3306), Attached("mysql", (8, 0, 0), "", "", {}))
    assert found.pid is None and found.why_not == "the server runs on another machine"


def test_a_data_directory_that_is_not_there(make_instance: Callable[..., Instance]) -> None:
    instance = make_instance()
    instance.start()
    told = replace(describe(instance.login()), variables={"datadir": "/nonexistent"})
    found = find_local(instance.login(), told)
    assert found.pid == instance.pid and found.data is None and "cannot be looked at" in found.why_not
