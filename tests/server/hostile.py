"""Servers that are named for their fault. They speak MySQL's protocol well up to one packet, and then do otherwise."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from flatwater.experiment.database.login import Login, Socket

#: What the protocol calls CLIENT_LONG_PASSWORD, PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH, CONNECT_WITH_DB,
#: LOCAL_FILES; and DEPRECATE_EOF, which changes how results end.
CAPABILITIES = 1 | 1 << 9 | 1 << 15 | 1 << 19 | 1 << 3 | 1 << 7
DEPRECATE_EOF = 1 << 24
ESCAPES = "\x1b]0;owned\x07\x1b[31mred\r\nerror: nothing is wrong\x9b2J\u202e"


def _text(text: str) -> bytes:
    data = text.encode()
    return bytes([len(data)]) + data if len(data) < 251 else b"\xfc" + struct.pack("<H", len(data)) + data


OK = b"\x00\x00\x00\x02\x00\x00\x00"
EOF = b"\xfe\x00\x00\x02\x00"


def _error(text: str) -> bytes:
    return b"\xff" + struct.pack("<H", 1234) + b"#HY000" + text.encode()


def _greeting(capabilities: int) -> bytes:
    low, high = capabilities & 0xFFFF, capabilities >> 16
    head = b"\x0a" + b"10.11.6-MariaDB\x00" + struct.pack("<I", 7) + b"abcdefgh\x00" + struct.pack("<H", low)
    return (
        head + b"\x2d\x02\x00" + struct.pack("<HB", high, 21) + bytes(10) + b"ijklmnopqrst\x00mysql_native_password\x00"
    )


def _column(name: str) -> bytes:
    return b"".join(map(_text, ("def", "", "", "", name, ""))) + b"\x0c\x2d\x00\xff\x00\x00\x00\xfd\x00\x00\x00\x00\x00"


def _result(names: list[str], rows: list[list[str]], *, with_eof: bool) -> list[bytes]:
    after = [EOF] if with_eof else []
    told = [b"".join(map(_text, row)) for row in rows]
    return [bytes([len(names)]), *map(_column, names), *after, *told, EOF if with_eof else b"\xfe" + OK[1:]]


def _reply(question: str, *, with_eof: bool) -> list[bytes]:
    if "VERSION()" in question:
        rows = [["10.11.6-MariaDB", "comment"]]
        return _result(["VERSION()", "@@version_comment"], rows, with_eof=with_eof)
    if question.startswith("SHOW"):
        rows = [["innodb_page_size", "16384"], ["innodb_io_capacity", "200"]]
        return _result(["Variable_name", "Value"], rows, with_eof=with_eof)
    return [OK]


#: A fault is given the connection, the sequence number that it is due, and the good payload.
Fault = Callable[[socket.socket, int, bytes], None]


def packet(sequence: int, payload: bytes) -> bytes:
    """A payload with its header."""
    return struct.pack("<I", len(payload))[:3] + bytes([sequence % 256]) + payload


def instead(payload: bytes) -> Fault:
    """Another payload in its place."""
    return lambda peer, sequence, good: peer.sendall(packet(sequence, payload))


def _cut(peer: socket.socket, sequence: int, good: bytes) -> None:
    peer.sendall(packet(sequence, good)[: 4 + len(good) // 2])
    peer.close()


def _short(peer: socket.socket, sequence: int, good: bytes) -> None:
    peer.sendall(packet(sequence, good[: len(good) // 2]))


def _oversized(peer: socket.socket, sequence: int, good: bytes) -> None:
    peer.sendall(b"\xff\xff\xff" + bytes([sequence]) + good)


def _closed(peer: socket.socket, sequence: int, good: bytes) -> None:
    peer.close()


def _endless(peer: socket.socket, sequence: int, good: bytes) -> None:
    while True:
        peer.sendall(packet(sequence, good) * 100)


FAULTS: dict[str, Fault] = {
    "ok": instead(OK),
    "error": instead(_error(ESCAPES)),
    "long-error": instead(_error("x" * 100_000)),
    "eof": instead(EOF),
    "infile": instead(b"\xfb/etc/passwd"),
    "null": instead(b"\xfb"),
    "garbage": instead(bytes(range(255, 0, -7))),
    "huge-length": instead(b"\xfe" + b"\xff" * 8),
    "empty": instead(b""),
    "short": _short,
    "cut": _cut,
    "oversized": _oversized,
    "closed": _closed,
    "endless": _endless,
}


def dripping(over: threading.Event) -> Fault:
    """A byte now and then, sooner than any single read is given up."""

    def drip(peer: socket.socket, sequence: int, good: bytes) -> None:
        for byte in packet(sequence, bytes(2**20)):
            peer.sendall(bytes([byte]))
            if over.wait(0.02):
                return

    return drip


class HostileServer:
    """Answers well, but for the packet of a number (its own, counted from 0) of each connection."""

    def __init__(self, socket_path: Path, fault: Fault | None, position: int, *, deprecate_eof: bool = True) -> None:
        self.path = socket_path
        self._fault = fault
        self._position = position
        self._capabilities = CAPABILITIES | (DEPRECATE_EOF if deprecate_eof else 0)
        #: Packets that the last connection was sent.
        self.sent = 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(socket_path))
        self._listener.listen()
        self._peers: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def login(self) -> Login:
        return Login(Socket(str(self.path)), "u", "secret", None)

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            self._peers.append(peer)
            with contextlib.suppress(OSError):
                self._serve(peer)
            peer.close()

    def _serve(self, peer: socket.socket) -> None:
        self.sent = 0
        self._say(peer, [_greeting(self._capabilities)], 0)
        self._hear(peer)
        self._say(peer, [OK], 2)
        while (question := self._hear(peer)) and question[0] == 3:
            with_eof = not self._capabilities & DEPRECATE_EOF
            self._say(peer, _reply(question[1:].decode(), with_eof=with_eof), 1)

    def _say(self, peer: socket.socket, payloads: list[bytes], sequence: int) -> None:
        for place, payload in enumerate(payloads):
            self.sent += 1
            if self._fault is not None and self.sent - 1 == self._position:
                self._fault(peer, sequence + place, payload)
            else:
                peer.sendall(packet(sequence + place, payload))

    @staticmethod
    def _hear(peer: socket.socket) -> bytes:
        head = peer.recv(4, socket.MSG_WAITALL)
        return peer.recv(int.from_bytes(head[:3], "little"), socket.MSG_WAITALL) if len(head) == 4 else b""

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for peer in self._peers:
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
        self._thread.join()


@contextlib.contextmanager
def hostile(
    folder: Path, fault: Fault | None = None, position: int = 0, *, deprecate_eof: bool = True
) -> Iterator[HostileServer]:
    """A server for as long as it is asked something."""
    server = HostileServer(folder / "hostile.sock", fault, position, deprecate_eof=deprecate_eof)
    try:
        yield server
    finally:
        server.close()
