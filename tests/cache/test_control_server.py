"""Requests over a control socket, and what comes back."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE_S

from flatwater.cache.control_server import ControlServer
from flatwater.cache.messages import Answer, Request
from flatwater.errors import FlatwaterError, UserError

Serve = Callable[[Callable[[Request], Answer]], ControlServer]


@pytest.fixture
def address() -> Iterator[Path]:
    import tempfile

    with tempfile.TemporaryDirectory(prefix="flatwater-test-") as folder:  # a socket's path must be short
        yield Path(folder) / "control"


@pytest.fixture
def serve(address: Path) -> Iterator[Serve]:
    with ExitStack() as opened:

        def make(answer: Callable[[Request], Answer]) -> ControlServer:
            listener = opened.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(str(address))
            listener.listen()
            server = ControlServer(listener, answer)
            server.start()
            return server

        yield make


def ask(address: Path, line: bytes) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(PATIENCE_S)
        link.connect(str(address))
        link.sendall(line + b"\n")
        with link.makefile("rb") as lines:
            answer: dict[str, Any] = json.loads(lines.readline())
            return answer


def test_a_request_gets_its_answer(address: Path, serve: Serve) -> None:
    serve(lambda request: {"job": request["job"] + 1})
    assert ask(address, b'{"do": "flush", "job": 3}') == {"job": 4}


@pytest.mark.parametrize("kind", [UserError, FlatwaterError])
def test_an_error_is_told_with_its_place_and_hint(address: Path, serve: Serve, kind: type[FlatwaterError]) -> None:
    def refuse(_: Request) -> Answer:
        raise kind("no", where="NAME", hint="try again")

    serve(refuse)
    user = kind is UserError
    assert ask(address, b"{}") == {"error": "no", "where": "NAME", "hint": "try again", "user": user}


@pytest.mark.parametrize("line", [b"", b"not json", b"[1]", b'{"x": 1}'])
def test_what_is_no_request_is_refused(address: Path, serve: Serve, line: bytes) -> None:
    serve(lambda request: {"state": request["do"]})
    assert ask(address, line) == {"error": "that is no request"}


def test_the_end_waits_for_answers_that_are_under_way(address: Path, serve: Serve) -> None:
    begun, may_answer = threading.Event(), threading.Event()

    def answer(_: Request) -> Answer:
        begun.set()
        assert may_answer.wait(PATIENCE_S)
        return {"stopping": True}

    server = serve(answer)
    server.wait_until_answered(0.0)
    answers: list[dict[str, Any]] = []
    client = threading.Thread(target=lambda: answers.append(ask(address, b"{}")))
    client.start()
    assert begun.wait(PATIENCE_S)
    may_answer.set()
    server.wait_until_answered(PATIENCE_S)
    client.join(PATIENCE_S)
    assert answers == [{"stopping": True}]
