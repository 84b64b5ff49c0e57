"""The process behind a port or a socket."""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from waiting import until

from flatwater.experiment.database.login import Login, Tcp
from flatwater.server import Attached, Instance, describe, find_local, is_stopped, local


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


def test_a_rule_that_leads_past_the_server_that_listens_here(listening: Listening) -> None:
    """DNAT: the socket is that of a server of this machine, and another one of the same package answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    instance, told = listening("127.0.0.1", port)
    assert find_local(tcp("127.0.0.1", port), told).pid == instance.pid
    found = find_local(tcp("127.0.0.1", port), replace(told, host="elsewhere"))
    assert (found.pid, found.data) == (None, None)
    assert "calls its machine by another name" in found.why_not and "elsewhere" not in found.why_not


def test_another_program_on_the_port_is_not_the_server(tmp_path: Path) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        told = Attached("mariadb", (10, 11, 0), "", "", {"datadir": str(tmp_path), "pid_file": str(tmp_path / "pid")})
        (tmp_path / "pid").write_text(str(os.getpid()))
        found = find_local(tcp("localhost", listening.getsockname()[1]), told)
    assert found.pid is None and found.data is None and "another program, " in found.why_not


@pytest.fixture
def listening(make_instance: Callable[..., Instance]) -> Callable[[str, int], tuple[Instance, Attached]]:
    """`listening(ADDRESS, PORT)` starts a server there, and describes it."""

    def start(address: str, port: int) -> tuple[Instance, Attached]:
        instance = make_instance({"skip_networking": "0", "bind_address": address, "port": str(port)})
        instance.start()
        return instance, describe(instance.login())

    return start


Listening = Callable[[str, int], tuple[Instance, Attached]]


def test_behind_a_tunnel_the_server_of_this_machine_is_not_taken_for_the_one_that_answers(listening: Listening) -> None:
    """Whatever answers has the same directories and the same file of its number as the server of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    with socket.create_server(("127.0.0.1", 0)) as tunnel:
        instance, told = listening("127.0.0.1", port)
        assert Path(told.variables["pid_file"]).read_text().strip() == str(instance.pid)
        found = find_local(tcp("127.0.0.1", tunnel.getsockname()[1]), told)
        assert (found.pid, found.data) == (None, None)
        assert found.why_not.startswith("another program, ") and "127.0.0.1:" in found.why_not
        assert find_local(tcp("localhost", port), told).pid == instance.pid


def test_a_tunnel_on_the_servers_port_and_another_address(listening: Listening) -> None:
    with socket.create_server(("127.0.0.1", 0)) as tunnel:
        port: int = tunnel.getsockname()[1]
        instance, told = listening("127.0.0.2", port)
        assert find_local(tcp("127.0.0.1", port), told).pid is None
        assert find_local(tcp("127.0.0.2", port), told).pid == instance.pid


class Proc:
    """A folder like /proc, of a machine with one server on its own port 3306 of 127.0.0.1."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "net").mkdir(parents=True)
        self.listen("127.0.0.1", 3306, 11)
        self.process(7, "mariadbd")
        (folder / "pid").write_text("7\n")
        (folder / "data").mkdir()

    def process(self, pid: int, name: str, *, holds: int | None = None, command: Sequence[str] = ()) -> None:
        """One whose sockets may not be looked at, or that holds one socket by its inode."""
        own = self._folder / str(pid)
        own.mkdir(exist_ok=True)
        (own / "comm").write_text(f"{name}\n")
        (own / "cmdline").write_text("\0".join((*command, "")))
        if holds is not None:
            (own / "fd").mkdir()
            (own / "fd" / "4").symlink_to(f"socket:[{holds}]")

    def listen(self, address: str, port: int, inode: int) -> None:
        packed = ipaddress.ip_address(address).packed
        words = "".join(f"{word:08X}" for word in struct.unpack(f"={len(packed) // 4}I", packed))
        file = self._folder / "net" / ("tcp" if len(packed) == 4 else "tcp6")
        before = file.read_text() if file.exists() else "  sl  local_address rem_address   st ...\n"
        told = f"   0: {words}:{port:04X} 0:0000 0A 00000000:00000000 00:00000000 00000000     0        0 {inode} 1\n"
        file.write_text(before + told)

    def told(self, host: str = socket.gethostname(), **variables: str) -> Attached:
        own = {"datadir": str(self._folder / "data"), "pid_file": str(self._folder / "pid"), "port": "3306"}
        return Attached("mariadb", (10, 11, 0), "", "", own | variables, host=host)


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Proc:
    monkeypatch.setattr(local, "_PROC", tmp_path / "proc")
    return Proc(tmp_path / "proc")


def test_where_no_socket_may_be_looked_at_the_servers_file_is_believed(proc: Proc) -> None:
    assert find_local(tcp("127.0.0.1", 3306), proc.told()).pid == 7
    # Another of its ports.
    proc.listen("127.0.0.1", 3307, 12)
    assert find_local(tcp("127.0.0.1", 3307), proc.told(extra_port="3307")).pid == 7
    # Nobody is there.
    assert find_local(tcp("127.0.0.1", 3308), proc.told(extra_port="3308")).pid is None


def test_where_no_socket_may_be_looked_at_a_tunnel_is_told_by_what_the_server_says(proc: Proc) -> None:
    proc.listen("127.0.0.1", 3307, 12)
    for login, told in [
        # The server says that it listens on 3306.
        (tcp("127.0.0.1", 3307), proc.told()),
        # A tunnel to another machine, on the server's own port.
        (tcp("127.0.0.1", 3306), proc.told(host="db")),
        (tcp("127.0.0.1", 3306), proc.told(host="")),
    ]:
        found = find_local(login, told)
        assert found.pid is None and "root" in found.why_not


@pytest.mark.parametrize(("loaded", "pid"), [("/opt/bin/mysqld.real", 7), ("/opt/bin/mysql", None)])
def test_a_program_with_a_loader_of_its_own(proc: Proc, loaded: str, pid: int | None) -> None:
    """It is known by what it was told to load, if that is a server."""
    proc.process(7, "ld-linux-x86-64", command=("/opt/lib/ld-linux-x86-64.so.2", "--library-path", "/opt/lib", loaded))
    assert find_local(tcp("127.0.0.1", 3306), proc.told()).pid == pid


def test_a_server_whose_sockets_are_seen_is_not_believed_to_have_another(proc: Proc) -> None:
    proc.process(7, "mariadbd", holds=99)
    assert find_local(tcp("127.0.0.1", 3306), proc.told()).pid is None
    # Who holds the port is seen, and is no server.
    proc.process(8, "ssh", holds=11)
    assert "another program, ssh, listens at 127.0.0.1:3306" in find_local(tcp("127.0.0.1", 3306), proc.told()).why_not


def test_a_socket_that_systemd_made_is_the_servers(proc: Proc) -> None:
    proc.process(1, "systemd", holds=11)
    assert find_local(tcp("127.0.0.1", 3306), proc.told()).pid == 7


@pytest.mark.parametrize(
    ("host", "own", "other"),
    [
        ("127.0.0.1", "127.0.0.1", "0.0.0.0"),
        ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
        ("127.0.0.1", "::ffff:127.0.0.1", "::"),
        ("127.0.0.1", "0.0.0.0", "::"),
        ("127.0.0.1", "::", "::1"),
        ("::1", "::1", "::"),
        ("::1", "::", "0.0.0.0"),
    ],
)
def test_connections_arrive_at_the_socket_with_the_nearest_address(proc: Proc, host: str, own: str, other: str) -> None:
    proc.process(7, "mariadbd", holds=21)
    proc.process(8, "ssh", holds=22)
    told = proc.told()
    proc.listen(own, 3309, 21)
    proc.listen(other, 3309, 22)
    assert find_local(tcp(host, 3309), told).pid == 7


def test_files_are_compared_and_not_mounts(proc: Proc, tmp_path: Path) -> None:
    """A service with mounts of its own has most files in common with others; a container has none."""
    for pid, mounts in (("self", 1), ("7", 2)):
        namespaces = tmp_path / "proc" / pid / "ns"
        namespaces.mkdir(parents=True)
        (namespaces / "mnt").symlink_to(f"mnt:[{mounts}]")
    data = tmp_path / "proc" / "data"
    root = tmp_path / "proc" / "7" / "root"
    root.symlink_to("/")
    assert local.is_seen_alike(7, data) and find_local(tcp("127.0.0.1", 3306), proc.told()).data == data
    root.unlink()
    (root / data.relative_to("/")).mkdir(parents=True)
    assert not local.is_seen_alike(7, data)
    assert "container" in find_local(tcp("127.0.0.1", 3306), proc.told()).why_not


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
