"""The process of a server that flatwater did not start, if it runs on this machine, and the directory of its data.

A server on a socket tells its process itself (SO_PEERCRED). A server on a port is the process that listens there: the
kernel lists the sockets that listen (/proc/net/tcp) and the sockets of each process (/proc/PID/fd). A proxy may listen
in place of the server, so a process counts only if it works in the server's data directory: servers change to it when
they start.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from flatwater.experiment.database.login import Login, Socket, Tcp
from flatwater.server.attach import ANSWER_S, Attached

#: The state of a socket that listens, in /proc/net/tcp (include/net/tcp_states.h of Linux).
_LISTENS = "0A"
#: The programs of servers, as the kernel names their processes.
_PROGRAMS = re.compile(r"(mysqld|mariadbd).*", re.DOTALL)
_PROC = Path("/proc")


@dataclass(frozen=True)
class Local:
    """What is known of the process of a server."""

    #: None if it runs on another machine, or cannot be told from other processes.
    pid: int | None = None
    #: Its data directory, as this process sees it; None if that is unknown.
    data: Path | None = None
    #: Why there is no process, or no directory; empty if there are both.
    why_not: str = ""


def find_local(login: Login, server: Attached) -> Local:
    """The process and the data directory of a server."""
    if isinstance(login.address, Tcp) and not _is_here(login.address.tcp[0]):
        return Local(why_not="the server runs on another machine")
    pid = _by_socket(login.address) if isinstance(login.address, Socket) else _by_port(login.address.tcp[1], server)
    if pid is None:
        return Local(why_not="no process of this machine is known to be the server (run as root or as its user)")
    if not _shares_files(pid):
        return Local(pid, why_not="the server runs in a container, whose files are not looked at")
    data = Path(server.variables.get("datadir", ""))
    if not data.is_absolute() or not data.is_dir():
        return Local(pid, why_not="the server's data directory cannot be looked at")
    return Local(pid, data)


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped by a signal, or gone."""
    try:
        state = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return True
    return state in ("T", "t", "Z", "X")


def _is_here(host: str) -> bool:
    """Whether a host is this machine."""
    own = {address.address.partition("%")[0] for card in psutil.net_if_addrs().values() for address in card}
    try:
        found = {str(entry[4][0]).partition("%")[0] for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return False
    return any(_is_loopback(one) or one in own for one in found)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _by_socket(address: Socket) -> int | None:
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(ANSWER_S)
        probe.connect(address.socket)
        # struct ucred: pid, uid, gid of the process that called listen(2) (unix(7), SO_PEERCRED).
        pid, _, _ = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        # Of a socket that systemd made for the server, it is systemd's.
        return pid if pid in _servers() else None
    return None


def _by_port(port: int, server: Attached) -> int | None:
    """The process that listens on a port; where that may not be seen, the one in the server's file of its number."""
    listening = {f"socket:[{inode}]" for inode in _listening(port)}
    if not listening:
        return None
    servers = list(_servers())
    holding = [pid for pid in servers if _holds(pid, listening)]
    in_file = _pid_in_file(server.variables.get("pid_file", ""), servers)
    for pid in [*holding, *([in_file] if in_file is not None else [])]:
        if _works_in(pid, server.variables.get("datadir", "")):
            return pid
    return None


def _listening(port: int) -> Iterator[str]:
    """The inodes of the sockets that listen on a port (proc(5), /proc/net/tcp)."""
    for name in ("tcp", "tcp6"):
        try:
            lines = (_PROC / "net" / name).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]


def _servers() -> Iterator[int]:
    for name in os.listdir(_PROC):  # noqa: PTH208 (names are enough)
        if name.isdecimal():
            with contextlib.suppress(OSError):
                if _PROGRAMS.fullmatch((_PROC / name / "comm").read_text(errors="replace").strip()):
                    yield int(name)


def _holds(pid: int, sockets: set[str]) -> bool:
    folder = _PROC / str(pid) / "fd"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):  # noqa: PTH208 (names are enough)
            with contextlib.suppress(OSError):
                if str((folder / name).readlink()) in sockets:
                    return True
    return False


def _pid_in_file(name: str, servers: list[int]) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        pid = int(Path(name).read_text()[:20])
        return pid if pid in servers else None
    return None


def _works_in(pid: int, data: str) -> bool:
    """Whether the process works in the data directory. One that may not be looked at is believed: it is a server."""
    try:
        return str((_PROC / str(pid) / "cwd").readlink()) in (os.path.normpath(data), os.path.realpath(data))
    except OSError:
        return True


def _shares_files(pid: int) -> bool:
    """Whether a process sees the same files as this one."""
    try:
        return (_PROC / str(pid) / "ns/mnt").readlink() == (_PROC / "self/ns/mnt").readlink()
    except OSError:
        return True
