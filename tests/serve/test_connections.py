"""Connections of a server: many at once, some that say nothing, and others that do not finish what they say."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from servelab import PATIENCE_S, Lab, wait_for

from flatwater.serve import connections
from flatwater.serve.server import FILES_MAX, FILES_OF_RESULTS, connections_max

TOKEN = "a-token-of-this-test"
REQUEST = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@contextmanager
def connected(lab: Lab, count: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as opened:
        yield [
            opened.enter_context(socket.create_connection(("127.0.0.1", lab.port), timeout=PATIENCE_S))
            for _ in range(count)
        ]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is sent away for silence alone."""
    monkeypatch.setattr(connections, "SILENT_S", 3600.0)


def is_closed(one: socket.socket) -> bool:
    """Reads to the end; a server that goes on would be waited for."""
    with suppress(ConnectionResetError):
        while one.recv(65536):
            pass
    return True


@pytest.mark.usefixtures("patient")
def test_who_has_no_token_takes_no_place_from_who_has(tmp_path: Path) -> None:
    with Lab([tmp_path], TOKEN, connections=8) as lab, connected(lab, 40) as silent:
        # Each new one takes the place of the one that was silent for longest.
        assert all(is_closed(one) for one in silent[:32])
        assert lab.look("/").status == 200 and lab.ask("/").status == 401
        assert len(lab.connections) <= 8


@pytest.mark.usefixtures("patient")
def test_an_answer_under_way_is_never_cut_off_for_others(lab_of_a_run: tuple[Lab, str]) -> None:
    lab, key = lab_of_a_run
    watching = lab.watch(key)
    assert watching.until(lambda name, data: True)[0] == "all"
    with connected(lab, 40) as silent:
        assert all(is_closed(one) for one in silent[:30])
        assert lab.ask("/").status == 200 and lab.hub.viewers == 1
    watching.close()


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        REQUEST + b"GET / HTTP/1.1\r\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\nhalf",
    ],
)
def test_who_asks_for_nothing_more_is_sent_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bytes) -> None:
    monkeypatch.setattr(connections, "SILENT_S", 0.2)
    with Lab([tmp_path]) as lab, connected(lab, 1) as (one,):
        one.sendall(said)
        assert is_closed(one)


def test_one_who_says_a_letter_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SILENT_S", 0.3)
    gone = threading.Event()
    with Lab([tmp_path]) as lab, connected(lab, 1) as (one,):

        def trickle() -> None:
            with suppress(OSError):
                while not gone.wait(0.02):
                    one.sendall(b"x")

        one.sendall(REQUEST + b"GET / HTTP/1.1\r\nX: ")
        writer = threading.Thread(target=trickle)
        writer.start()
        try:
            assert is_closed(one)
        finally:
            gone.set()
            writer.join()


def test_one_connection_answers_many_requests(tmp_path: Path) -> None:
    with Lab([tmp_path]) as lab, connected(lab, 1) as (one,):
        for _ in range(3):
            one.sendall(b"HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 2)
            found = b""
            while found.count(b"200 OK") < 2:
                found += one.recv(65536)
        assert len(lab.connections) == 1
    wait_for(lambda: not lab.connections)


#: The head of a request whose body is sent, and what is no body. h11 takes a chunk's length in at most 20 digits.
CHUNKED = b"%s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n%s\r\n"
NO_CHUNKS = (b"zz\r\n", b"-1\r\n", b"5\r\nhelloX", b"5\r\nhello\r\nzz\r\n", b"0\r\nbad\r\n\r\n", b"f" * 30 + b"\r\n")
NO_HTTP = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/x\r\nHost: localhost\r\n\r\n",
    b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 300_000,
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\nx",
    *(
        CHUNKED % (line, more) + chunk
        for line in (b"GET /", b"POST /", b"GET /metrics", b"POST /experiments/quick/start")
        for more in (
            b"",
            b"Connection: close\r\n",
            b"Expect: 100-continue\r\n",
            b"Upgrade: h2c\r\nConnection: upgrade\r\n",
        )
        for chunk in NO_CHUNKS
    ),
)


def said_to(port: int, *pieces: bytes) -> bytes:
    """What a server says until it closes the connection."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as one, suppress(ConnectionResetError):
        for piece in pieces:
            one.sendall(piece)
            if piece is not pieces[-1]:
                answer += one.recv(65536)
        while found := one.recv(65536):
            answer += found
    return answer


@pytest.mark.parametrize("token", [None, TOKEN])
def test_what_is_no_http_is_answered_once_and_in_silence(
    tmp_path: Path, token: str | None, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with Lab([tmp_path], token) as lab:
        for said in NO_HTTP:
            answer = said_to(lab.port, said)
            # The kernel drops an answer to one who is not done with sending.
            assert not answer or answer.startswith(b"HTTP/1.1 400 "), (said, answer)
            assert answer.count(b"HTTP/1.1") == bool(answer), (said, answer)
        assert lab.look("/").status == 200
    assert not caplog.records and capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("chunk", NO_CHUNKS)
def test_what_is_no_body_after_the_answer(
    lab_of_a_run: tuple[Lab, str],
    chunk: bytes,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    lab, key = lab_of_a_run
    # An answer that has ended, and one that goes on.
    for line in (b"POST /", f"GET /run/{key}/events".encode()):
        answer = said_to(lab.port, CHUNKED % (line, b""), chunk)
        assert answer.count(b"HTTP/1.1") == 1 and not answer.startswith(b"HTTP/1.1 400")
    wait_for(lambda: not lab.hub.viewers)
    assert lab.ask("/").status == 200
    assert not caplog.records and capfd.readouterr() == ("", "")


def test_results_have_files_left() -> None:
    assert connections_max(FILES_MAX) == FILES_MAX - FILES_OF_RESULTS
    for files in (64, 256, 1024):
        assert 32 <= connections_max(files) < files
