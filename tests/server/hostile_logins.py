"""Servers over TCP that play a login with TLS or another plugin up to a point, and then do otherwise."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.servers.certificates import Pair
from hostile import CAPABILITIES, DEPRECATE_EOF, OK, packet

#: What the protocol calls CLIENT_SSL.
SSL = 1 << 11
#: A login, or the request for TLS before it.
Played = Callable[[socket.socket], None]
CHALLENGE = b"abcdefghijklmnopqrst"


def greeting(plugin: str = "mysql_native_password", *, tls: bool = True, challenge: bytes = CHALLENGE) -> bytes:
    """The first packet of a server."""
    capabilities = CAPABILITIES | DEPRECATE_EOF | (SSL if tls else 0)
    head = b"\x0a8.0.15\x00" + struct.pack("<I", 7) + challenge[:8] + b"\x00" + struct.pack("<H", capabilities & 0xFFFF)
    middle = struct.pack("<HB", capabilities >> 16, 21) + bytes(10) + challenge[8:] + b"\x00"
    return head + b"\x2d\x02\x00" + middle + plugin.encode() + b"\x00"


def hear(peer: socket.socket) -> tuple[int, bytes]:
    """The next packet: its sequence number and its payload; nothing once the client has gone."""
    head = peer.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        return 0, b""
    return head[3], peer.recv(int.from_bytes(head[:3], "little"), socket.MSG_WAITALL)


def after_request(play: Played) -> Played:
    """Greets, takes the request for TLS, and goes on so."""

    def greet(peer: socket.socket) -> None:
        peer.sendall(packet(0, greeting()))
        sequence, request = hear(peer)
        assert (sequence, len(request)) == (1, 32)
        assert struct.unpack("<I", request[:4])[0] & SSL
        play(peer)

    return greet


def encrypted(pair: Pair, play: Callable[[ssl.SSLSocket], None]) -> Played:
    """Makes TLS as it should be, and goes on so within it."""

    def shake(peer: socket.socket) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.cert, pair.key)
        with context.wrap_socket(peer, server_side=True) as inner:
            play(inner)

    return after_request(shake)


def asking(*questions: bytes, plugin: str = "mysql_native_password", challenge: bytes = CHALLENGE) -> Played:
    """Asks these things one after the other, whatever is answered, and lets in who answered them all."""

    def ask(peer: socket.socket) -> None:
        peer.sendall(packet(0, greeting(plugin, tls=False, challenge=challenge)))
        sequence, _ = hear(peer)
        for question in questions:
            peer.sendall(packet(sequence + 1, question))
            sequence, answer = hear(peer)
            if not answer and not sequence:
                return
        peer.sendall(packet(sequence + 1, OK))

    return ask


@contextmanager
def played(play: Played) -> Iterator[int]:
    """The port of a server that plays this to each client."""
    peers: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    peer, _ = listener.accept()
                    peers.append(peer)
                    with contextlib.suppress(OSError, ssl.SSLError):
                        play(peer)
                    peer.close()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            for peer in peers:
                with contextlib.suppress(OSError):
                    peer.shutdown(socket.SHUT_RDWR)
            thread.join()
