"""Whatever a server makes of TLS or a login: it is told in one line, soon, with a hint, and without the password."""

from __future__ import annotations

import base64
import os
import socket
import ssl

import pytest
from benchmarks.servers.certificates import Pair, self_signed, why_no_certificates
from hostile import ESCAPES, packet
from hostile_logins import CHALLENGE, Played, after_request, asking, encrypted, greeting, hear, played

from flatwater.errors import FlatwaterError
from flatwater.experiment.database.login import Login, Tcp, Tls
from flatwater.server import attach, describe

pytestmark = pytest.mark.skipif(why_no_certificates() is not None, reason=str(why_no_certificates()))

PASSWORD = "s3cr3t"
#: A record of TLS: an alert, fatal.
ALERT = b"\x15\x03\x03\x00\x02\x02"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return self_signed(tmp_path_factory.mktemp("own"), "own")


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attach, "ANSWER_S", 2.0)


def told(port: int, tls: Tls | None = None) -> str:
    with pytest.raises(FlatwaterError) as caught:
        describe(Login(Tcp(("127.0.0.1", port)), "u", PASSWORD, None, tls))
    text = str(caught.value)
    assert text.startswith("database.url: ") and text.count("(hint: ") == 1
    assert len(text) < 1000 and "\n" not in text and PASSWORD not in text
    return text


def say(*payloads: bytes) -> Played:
    def play(peer: socket.socket) -> None:
        peer.recv(1)  # the client's hello has begun
        for payload in payloads:
            peer.sendall(payload)
        while peer.recv(2**16):
            pass

    return play


def endless(payload: bytes) -> Played:
    def play(peer: socket.socket) -> None:
        while True:
            peer.sendall(payload)

    return play


def cut(peer: socket.socket) -> None:
    peer.recv(2**16)
    peer.sendall(b"\x16\x03\x03\x00\x7a\x02\x00")


def broken_off(peer: socket.socket) -> None:
    peer.recv(2**16)
    peer.close()


HANDSHAKES: dict[str, tuple[Played, str]] = {
    "garbage": (say(bytes(range(256))), "what it says is none"),
    "a packet of the protocol": (say(packet(2, b"\xff\x15\x04#28000no")), "what it says is none"),
    "zeros": (endless(bytes(2**14)), "what it says is none"),
    "handshake records without end": (endless(b"\x16\x03\x03\x40\x00" + bytes(2**14)), ""),
    "a record of no known length": (say(b"\x16\x03\x03\xff\xff" + bytes(2**16)), "what it says is none"),
    "old version": (say(ALERT + bytes([70])), "refuses TLS: protocol_version"),
    "no cipher": (say(ALERT + bytes([40])), "refuses TLS: handshake_failure"),
    "its own certificate": (say(ALERT + bytes([116])), "does not take this client's certificate"),
    "silence": (say(), "did not answer in time"),
    "closed": (broken_off, "broke off in its handshake"),
    "cut": (cut, "broke off in its handshake"),
}


@pytest.mark.parametrize("name", HANDSHAKES)
@pytest.mark.parametrize("mode", ["PREFERRED", "REQUIRED"])
def test_no_handshake_hangs_or_panics(name: str, mode: str) -> None:
    play, words = HANDSHAKES[name]
    with played(after_request(play)) as port:
        assert words in told(port, Tls(mode))  # type: ignore[arg-type]


def test_words_of_the_protocol_in_place_of_tls_may_be_those_of_an_old_server() -> None:
    # yaSSL 2.4.4 (MySQL 5.7.22, MariaDB 10.2.11), to a hello of TLS 1.2.
    with played(after_request(say(packet(2, b"\xff\x13\x04#08S01Bad handshake")))) as port:
        assert "a server that only has TLS 1.0 or 1.1" in told(port, Tls("REQUIRED"))


def test_nothing_may_be_said_between_greeting_and_tls(pair: Pair) -> None:
    # Whoever is on the network could put an answer there, and have it taken for the server's.
    def inject(peer: socket.socket) -> None:
        peer.sendall(packet(0, greeting()) + packet(1, b"\x00\x00\x00\x02\x00\x00\x00"))
        hear(peer)
        peer.recv(2**16)

    with played(inject) as port:
        assert "before TLS has begun" in told(port, Tls("REQUIRED"))


@pytest.mark.parametrize("payload", [b"", bytes(range(255, 0, -7)), b"\xff\x15\x04#28000" + ESCAPES.encode()])
def test_what_is_said_within_tls_is_looked_at_as_ever(pair: Pair, payload: bytes) -> None:
    def answer(inner: ssl.SSLSocket) -> None:
        inner.recv(2**16)
        inner.sendall(packet(3, payload))
        inner.recv(2**16)

    with played(encrypted(pair, answer)) as port:
        text = told(port, Tls("REQUIRED"))
        assert not any(sign in text for sign in "\x1b\x07\r") or payload


def test_a_connection_that_ends_within_tls_is_lost(pair: Pair) -> None:
    with played(encrypted(pair, lambda inner: None)) as port:
        assert "lost" in told(port, Tls("REQUIRED"))


def test_records_of_tls_that_are_forged_are_not_taken(pair: Pair) -> None:
    def forge(inner: ssl.SSLSocket) -> None:
        inner.recv(2**16)
        # Past the session of TLS, onto the wire.
        os.write(inner.fileno(), b"\x17\x03\x03\x00\x20" + bytes(32))
        inner.recv(2**16)

    with played(encrypted(pair, forge)) as port:
        told(port, Tls("REQUIRED"))


def switch(plugin: str, challenge: bytes = CHALLENGE + b"\x00") -> bytes:
    return b"\xfe" + plugin.encode() + b"\x00" + challenge


def pem(data: bytes, label: str = "PUBLIC KEY") -> bytes:
    text = base64.encodebytes(data)
    return f"-----BEGIN {label}-----\n".encode() + text + f"-----END {label}-----\n".encode()


def rsa(modulus: bytes, exponent: bytes) -> bytes:
    def element(tag: int, data: bytes) -> bytes:
        return bytes([tag, 0x84]) + len(data).to_bytes(4, "big") + data

    numbers = element(0x30, element(2, modulus) + element(2, exponent))
    algorithm = element(0x30, bytes.fromhex("06092a864886f70d0101010500"))
    return pem(element(0x30, algorithm + element(3, b"\x00" + numbers)))


def more(data: bytes) -> bytes:
    return b"\x01" + data


SHA2 = "caching_sha2_password"
WANTED = more(b"\x04")
LOGINS: dict[str, tuple[Played, str]] = {
    "unknown plugin": (asking(switch("dialog", b"Password: ")), '"dialog", which flatwater does not know'),
    "unknown plugin at once": (asking(switch("pam"), plugin="pam"), '"pam", which flatwater does not know'),
    "cleartext": (asking(switch("mysql_clear_password", b"")), "which flatwater does not know"),
    "before 4.1": (asking(b"\xfe"), '"mysql_old_password"'),
    "words": (asking(switch(ESCAPES)), "which flatwater does not know"),
    "long name": (asking(switch("x" * 100_000)), "which flatwater does not know"),
    "native asks for more": (asking(more(b"\x04")), "more than its plugin needs"),
    "ed25519, short": (asking(switch("client_ed25519", b"short")), "too short"),
    "ed25519, empty": (asking(switch("client_ed25519", b"")), "too short"),
    "switches without end": (asking(*[switch("mysql_native_password")] * 100), "no end"),
    "remembered without end": (asking(*[more(b"\x03")] * 100, plugin=SHA2), ""),
    "key: none": (asking(WANTED, more(b""), plugin=SHA2), "public key"),
    "key: garbage": (asking(WANTED, more(bytes(range(256))), plugin=SHA2), "public key"),
    "key: no PEM within": (asking(WANTED, more(pem(b"\x30\x84\xff\xff\xff\xff")), plugin=SHA2), "public key"),
    "key: a certificate": (asking(WANTED, more(pem(b"x", "CERTIFICATE")), plugin=SHA2), "public key"),
    "key: too small": (asking(WANTED, more(rsa(b"\xff" * 64, b"\x03")), plugin=SHA2), "less than 1024"),
    "key: huge": (asking(WANTED, more(rsa(b"\xff" * 2**20, b"\x03")), plugin=SHA2), "more than 16384"),
    "key: huge exponent": (asking(WANTED, more(rsa(b"\xff" * 512, b"\xff" * 512)), plugin=SHA2), "impossible"),
    "key: zero": (asking(WANTED, more(rsa(b"\x80" + bytes(255), b"\x03")), plugin=SHA2), "impossible"),
    "key: of sha256": (asking(more(b"nothing"), plugin="sha256_password"), "public key"),
    "key after switch": (asking(switch("sha256_password"), more(b"nothing")), "public key"),
    "no challenge": (asking(switch(SHA2, b""), WANTED, more(rsa(b"\xff" * 256, b"\x03"))), "no challenge"),
    "the largest key": (asking(WANTED, more(rsa(b"\xff" * 2048, b"\xff" * 8)), plugin=SHA2), "lost"),
}


@pytest.mark.parametrize("name", LOGINS)
def test_no_login_hangs_or_panics(name: str) -> None:
    play, words = LOGINS[name]
    with played(play) as port:
        assert words in told(port)


@pytest.mark.parametrize("plugin", [SHA2, "sha256_password", "mysql_native_password", "client_ed25519"])
def test_nobody_on_the_network_reads_the_password(plugin: str) -> None:
    heard = bytearray()

    def listen(peer: socket.socket) -> None:
        peer.sendall(packet(0, greeting(tls=False)))
        sequence, answer = hear(peer)
        heard.extend(answer)
        for question in (switch(plugin, bytes(range(1, 33))), WANTED, more(b"\x02"), more(b"\x00")):
            peer.sendall(packet(sequence + 1, question))
            sequence, answer = hear(peer)
            heard.extend(answer)

    with played(listen) as port:
        told(port)
    assert heard and PASSWORD.encode() not in heard


def test_to_find_a_cause_the_password_is_sent_to_nobody(pair: Pair) -> None:
    """A server that refuses without TLS, and wants the password itself with it: nobody has checked who it is."""
    heard: list[bytes] = []

    def refuse(peer: socket.socket) -> None:
        peer.sendall(packet(0, greeting(SHA2)))
        sequence, first = hear(peer)
        if len(first) > 32:
            peer.sendall(packet(sequence + 1, b"\xff\x15\x04#28000Access denied"))
            return
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.cert, pair.key)
        with context.wrap_socket(peer, server_side=True) as inner:
            heard.append(inner.recv(2**16))
            inner.sendall(packet(3, WANTED))
            heard.append(inner.recv(2**16))

    with played(refuse) as port:
        text = told(port)
    assert "Access denied" in text and "FLATWATER_PASSWORD" in text and "requires TLS" not in text
    assert len(heard) == 2 and heard[0] and PASSWORD.encode() not in b"".join(heard)
