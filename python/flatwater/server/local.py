"""The process of a server that flatwater did not start, if it runs on this machine, and the directory of its data.

A server on a socket tells its process itself (SO_PEERCRED). A server on a port is the process that holds the socket on
which connections to it arrive: the kernel lists the sockets that listen with their addresses (/proc/net/tcp), and the
sockets of each process (/proc/PID/fd). A tunnel or a proxy may hold that socket in place of the server, which may then
be anywhere, even where this machine has a server with the same directories. Where it may not be seen who holds it, the
server's own file of its number is believed, if all that it says of itself fits this machine and this port.
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
#: The loader of programs, where it was started by hand to give a program other libraries (ld.so(8)).
_LOADER = re.compile(r"ld(-linux|-musl|64)?[-.].*", re.DOTALL)
_PROC = Path("/proc")
#: The variables of the ports that a server listens on: MariaDB's and Percona's second, and MySQL's for administrators.
_PORTS = ("port", "extra_port", "admin_port")
_UNKNOWN = "no process of this machine is known to be the server (run as root or as its user)"
_CALLED_OTHERWISE = (
    "the server calls its machine by another name than this one has: it is another, or was started before that changed"
)

_Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


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
    found = _by_socket(login.address) if isinstance(login.address, Socket) else _by_port(login.address, server)
    if isinstance(found, str):
        return Local(why_not=found)
    data = Path(server.variables.get("datadir", ""))
    if data.is_absolute() and not is_seen_alike(found, data):
        return Local(found, why_not="the server runs in a container, whose files are not looked at")
    if not data.is_absolute() or not data.is_dir():
        return Local(found, why_not="the server's data directory cannot be looked at")
    return Local(found, data)


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped by a signal, or gone."""
    try:
        state = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return True
    return state in ("T", "t", "Z", "X")


def is_seen_alike(pid: int, path: Path) -> bool:
    """Whether an absolute path is the same file for a process as for this one; also where nobody may know.

    A service may have mounts of its own (systemd's PrivateTmp, ProtectSystem), and most of its files in common with us.
    """
    try:
        if (_PROC / str(pid) / "ns/mnt").readlink() == (_PROC / "self/ns/mnt").readlink():
            return True
    except OSError:
        return True
    try:
        return as_seen_by(pid, path).samefile(path)
    except OSError:
        return False


def as_seen_by(pid: int, path: Path) -> Path:
    """Where this process finds an absolute path of a process that has mounts of its own (proc(5), /proc/PID/root)."""
    return _PROC / str(pid) / "root" / path.relative_to("/")


def _is_here(host: str) -> bool:
    """Whether a host is this machine."""
    own = {address.address.partition("%")[0] for card in psutil.net_if_addrs().values() for address in card}
    return any(address.is_loopback or str(address) in own for address in _addresses(host))


def _addresses(host: str) -> list[_Ip]:
    """The addresses of a host, in the order in which a client tries them; [] if it has none."""
    try:
        found = [str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):
        return []
    return [_plain(ipaddress.ip_address(one.partition("%")[0])) for one in found]


def _plain(address: _Ip) -> _Ip:
    """An address of IPv4 as such, also where IPv6 holds it (RFC 4291, 2.5.5.2)."""
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address


def _by_socket(address: Socket) -> int | str:
    """The process that listens on a socket, or why it is not known."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(ANSWER_S)
        probe.connect(address.socket)
        # struct ucred: pid, uid, gid of the process that called listen(2) (unix(7), SO_PEERCRED).
        pid, _, _ = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        # Of a socket that systemd made for the server, it is systemd's.
        return pid if pid in _servers() else _UNKNOWN
    return _UNKNOWN


def _by_port(address: Tcp, server: Attached) -> int | str:
    """The process that holds the socket of a port, or why it is not known."""
    host, port = address.tcp
    reached = {f"socket:[{inode}]" for inode in _reached(host, port)}
    if not reached:
        return _UNKNOWN
    servers = set(_servers())
    for pid in servers:
        if _holds(pid, reached) and _works_in(pid, server.variables.get("datadir", "")):
            # A rule of the packet filter (DNAT) may lead elsewhere, past the server that listens here.
            return pid if server.host in ("", socket.gethostname()) else _CALLED_OTHERWISE
    for pid in set(_processes()) - servers:
        # systemd keeps the sockets that it made for a service.
        if pid != 1 and _holds(pid, reached):
            return f"another program, {_name(pid)}, listens at {address}: where the server behind it runs is not known"
    found = _pid_in_file(server, servers)
    fits = port in _ports(server) and server.host == socket.gethostname()
    return found if found is not None and fits else _UNKNOWN


def _reached(host: str, port: int) -> set[str]:
    """The inodes of the sockets of this machine at which connections to a host and port arrive.

    Those on the address itself come before those on all addresses, and a host's first address that has one counts.
    """
    there = list(_listening(port))
    everywhere = {4: ("0.0.0.0", "::"), 6: ("::",)}  # noqa: S104 (compared, not listened on)
    for target in _addresses(host):
        for own in (str(target), *everywhere[target.version]):
            if found := {inode for address, inode in there if str(address) == own}:
                return found
    return set()


def _listening(port: int) -> Iterator[tuple[_Ip, str]]:
    """The address and the inode of each socket that listens on a port (proc(5), /proc/net/tcp)."""
    for name in ("tcp", "tcp6"):
        try:
            lines = (_PROC / "net" / name).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _LISTENS:
                address, _, told = fields[1].rpartition(":")
                if int(told, 16) == port:
                    yield _plain(_read_address(address)), fields[9]


def _read_address(told: str) -> _Ip:
    """An address as the kernel prints it: words of 32 bits, each as the number that this machine reads in its bytes."""
    words = (int(told[at : at + 8], 16) for at in range(0, len(told), 8))
    return ipaddress.ip_address(b"".join(struct.pack("=I", word) for word in words))


def _processes() -> Iterator[int]:
    return (int(name) for name in os.listdir(_PROC) if name.isdecimal())  # noqa: PTH208 (names are enough)


def _servers() -> Iterator[int]:
    return (pid for pid in _processes() if _PROGRAMS.fullmatch(_program(pid)))


def _program(pid: int) -> str:
    """What a process runs; empty if it is gone. Of a loader it is what that was told to load, if it is a server."""
    name = _name(pid)
    if _LOADER.fullmatch(name):
        with contextlib.suppress(OSError):
            told = (_PROC / str(pid) / "cmdline").read_text(errors="replace").split("\0")
            return next((path.name for path in map(Path, told) if _PROGRAMS.fullmatch(path.name)), name)
    return name


def _name(pid: int) -> str:
    """What the kernel calls a process; empty if it is gone."""
    with contextlib.suppress(OSError):
        return (_PROC / str(pid) / "comm").read_text(errors="replace").strip()
    return ""


def _holds(pid: int, sockets: set[str]) -> bool:
    """Whether a process is seen to hold one of some sockets."""
    folder = _PROC / str(pid) / "fd"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):  # noqa: PTH208 (names are enough)
            with contextlib.suppress(OSError):
                if str((folder / name).readlink()) in sockets:
                    return True
    return False


def _pid_in_file(server: Attached, servers: set[int]) -> int | None:
    """The process in the server's file of its number; not one whose sockets may be seen, and have another port."""
    with contextlib.suppress(OSError, ValueError):
        pid = int(Path(server.variables.get("pid_file", "")).read_text()[:20])
        return pid if pid in servers and not _may_look(pid) else None
    return None


def _may_look(pid: int) -> bool:
    """Whether it may be seen which files and sockets a process has open."""
    try:
        folder = _PROC / str(pid) / "fd"
        names = os.listdir(folder)  # noqa: PTH208 (names are enough)
        return any((folder / name).readlink() for name in names)
    except OSError:
        return False


def _ports(server: Attached) -> set[int]:
    """The ports that the server says it listens on. A tunnel has one of its own."""
    told = (server.variables.get(name, "") for name in _PORTS)
    return {int(one) for one in told if one.isdecimal()}


def _works_in(pid: int, data: str) -> bool:
    """Whether the process works in the data directory. Where that may not be looked at it is believed."""
    try:
        return str((_PROC / str(pid) / "cwd").readlink()) in (os.path.normpath(data), os.path.realpath(data))
    except OSError:
        return True
